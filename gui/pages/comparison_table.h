// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Tokenizers beside each other on the same text.

#include <QTableWidget>

#include "gui/run/data_preparer.h"

namespace athanor {

class ComparisonTable : public QTableWidget {
  Q_OBJECT
 public:
  explicit ComparisonTable(QWidget* parent = nullptr);

  /// One more; with the name of one that is there, in its place.
  void add(const ComparedTokenizer& tokenizer);
};

}  // namespace athanor
