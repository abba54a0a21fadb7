// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a run learns from: sources of every kind, what is in them, and the tokens made of them.

#include <QWidget>
#include <optional>

#include "gui/run/data_preparer.h"

class QPushButton;
class QStackedWidget;

namespace athanor {

class Banner;
class CorpusPanel;
class DataResults;
class PageHeader;
class ProgressRow;
class SourcePanel;

class DataPage : public QWidget {
  Q_OBJECT
 public:
  explicit DataPage(const std::filesystem::path& home, QWidget* parent = nullptr);

  void addSources(const QStringList& paths);
  /// The plan's context, batch and seed count here; its data too, until other is chosen.
  void setPlan(const RunSpec& spec);
  /// The plan with this page's sources, options and tokens.
  RunSpec spec() const;
  /// Makes tokens of it as it is now.
  void prepare();

  SourcePanel* sources() const { return m_sources; }
  CorpusPanel* corpus() const { return m_corpus; }
  /// Of the data as it is now; absent until it is prepared.
  const std::optional<DataReport>& report() const { return m_report; }

 signals:
  void useRequested(const athanor::RunSpec& spec);
  void prepared();

 private:
  QWidget* makeContent();
  void connectParts();
  void change();
  void setReport(const std::optional<DataReport>& report);
  void refresh();
  void showLooked();
  void showProgress(const CorpusProgress& progress);
  /// Why this cannot be trained on; empty when it can.
  QString obstacle() const;

  RunSpec m_plan;
  bool m_own = false;  ///< what is here is not what the plan has
  std::optional<DataReport> m_report;
  PageHeader* m_header;
  QPushButton* m_prepare;
  QPushButton* m_use;
  Banner* m_banner;
  ProgressRow* m_progress;
  QStackedWidget* m_stack;
  SourcePanel* m_sources;
  CorpusPanel* m_corpus;
  DataResults* m_results;
  DataPreparer m_preparer;
};

}  // namespace athanor
