// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What sets the runs chosen in the table apart: settings that differ, and what came of them.

#include <vector>

#include "engine/store/run_store.h"
#include "widgets/card.h"

class QTableWidget;

namespace athanor {

class RunDiff : public Card {
  Q_OBJECT
 public:
  explicit RunDiff(QWidget* parent = nullptr);

  /// One column for each; rows are only those in which they differ, results first.
  void showRuns(const std::vector<RunRecord>& records);

 private:
  QTableWidget* m_table;
};

}  // namespace athanor
