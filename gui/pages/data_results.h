// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What is in the sources, and what became of them: records, tokens, lengths, faults.

#include <QWidget>
#include <optional>
#include <vector>

#include "engine/data/source_preview.h"
#include "gui/run/data_preparer.h"

class QPushButton;
class QStackedWidget;

namespace athanor {

class Card;
class ComparisonTable;
class Figure;
class Histogram;
class ProblemTable;
class RecordTable;
class Segmented;
class TokenView;

class DataResults : public QWidget {
  Q_OBJECT
 public:
  explicit DataResults(QWidget* parent = nullptr);

  /// Of the chosen source; null: nothing is known yet.
  void showPreview(const SourcePreview* preview);
  /// Of all sources.
  void showFaults(const std::vector<SourcePreview>& previews);
  /// nullopt: not prepared as it is now.
  void showReport(const std::optional<DataReport>& report);
  void addComparison(const ComparedTokenizer& tokenizer);

 signals:
  void compareRequested(const QString& path);

 private:
  QWidget* makeFigures();
  QWidget* makeTop();
  QWidget* makeBottom();
  void showFigures(const DataReport& report);
  void clearFigures();

  Figure* m_documents;
  Figure* m_tokens;
  Figure* m_median;
  Figure* m_longer;
  Figure* m_packing;
  Card* m_top;
  Segmented* m_view;
  QStackedWidget* m_views;
  RecordTable* m_records;
  TokenView* m_batch;
  Card* m_lengths;
  Histogram* m_histogram;
  Card* m_side;
  Segmented* m_what;
  QStackedWidget* m_whats;
  ProblemTable* m_problems;
  ComparisonTable* m_comparison;
  QPushButton* m_compare;
};

}  // namespace athanor
