// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Records that were not used, by file and line.

#include <QTableWidget>
#include <vector>

#include "engine/data/source_preview.h"

namespace athanor {

class ProblemTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit ProblemTable(QWidget* parent = nullptr);

  void showBad(const std::vector<BadRecord>& records);
};

}  // namespace athanor
