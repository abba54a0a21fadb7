// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The first records of a source: where each stands, its fields, and the text made of them.

#include <QTableWidget>

#include "engine/data/source_preview.h"

namespace athanor {

class RecordTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit RecordTable(QWidget* parent = nullptr);

  void showPreview(const SourcePreview& preview);
  void clearPreview();
};

}  // namespace athanor
