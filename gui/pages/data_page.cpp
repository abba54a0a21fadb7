// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/data_page.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "gui/pages/corpus_panel.h"
#include "gui/pages/data_results.h"
#include "gui/pages/drop_target.h"
#include "gui/pages/page_header.h"
#include "gui/pages/source_panel.h"
#include "gui/pages/spec_fields.h"
#include "gui/pages/tokenizer_choice.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/empty_state.h"
#include "widgets/format.h"
#include "widgets/progress_row.h"

namespace athanor {
namespace {

constexpr int kLeft_px = 376;

}  // namespace

DataPage::DataPage(const std::filesystem::path& home, QWidget* parent)
    : QWidget(parent),
      m_plan(presets().front().spec),
      m_header(new PageHeader(tr("Data"))),
      m_prepare(plainButton(tr("Prepare"))),
      m_use(primaryButton(tr("Use in plan"), "plan")),
      m_banner(new Banner),
      m_progress(new ProgressRow),
      m_stack(new QStackedWidget),
      m_sources(new SourcePanel),
      m_corpus(new CorpusPanel),
      m_results(new DataResults),
      m_preparer(home) {
  m_prepare->setObjectName("prepare");
  m_use->setObjectName("useInPlan");
  m_header->addAction(m_prepare);
  m_header->addAction(m_use);
  auto* none = new EmptyState(
      "data",
      tr("Drop texts, records or folders of them here: .txt, .md, .jsonl, .json, .csv, "
         ".tsv, .parquet, also packed as .gz or .zst"),
      tr("Choose files…"));
  QPushButton* folder = plainButton(tr("Choose a folder…"), "folder");
  none->addButton(folder);
  connect(none, &EmptyState::activated, m_sources, &SourcePanel::askForFiles);
  connect(folder, &QPushButton::clicked, m_sources, &SourcePanel::askForFolder);
  m_stack->addWidget(none);
  m_stack->addWidget(makeContent());
  m_progress->hide();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(m_header);
  layout->addWidget(m_banner);
  layout->addWidget(m_progress);
  layout->addWidget(m_stack, 1);
  auto* drop = new DropTarget(this, tr("Drop texts, records or folders to learn from them"));
  connect(drop, &DropTarget::dropped, this, &DataPage::addSources);
  connectParts();
  refresh();
}

QWidget* DataPage::makeContent() {
  auto* panels = new QWidget;
  auto* column = new QVBoxLayout(panels);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(12);
  column->addWidget(m_sources, 1);
  column->addWidget(m_corpus);
  auto* scroll = new QScrollArea;
  scroll->setWidget(panels);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFixedWidth(kLeft_px);
  auto* content = new QWidget;
  auto* row = new QHBoxLayout(content);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(16);
  row->addWidget(scroll);
  row->addWidget(m_results, 1);
  return content;
}

void DataPage::connectParts() {
  connect(m_sources, &SourcePanel::edited, this, &DataPage::change);
  connect(m_sources, &SourcePanel::looked, this, &DataPage::showLooked);
  connect(m_corpus, &CorpusPanel::edited, this, &DataPage::change);
  connect(m_corpus, &CorpusPanel::readingChanged, this,
          [this] { m_sources->setReadOptions(m_corpus->options().read); });
  connect(m_prepare, &QPushButton::clicked, this, &DataPage::prepare);
  connect(m_use, &QPushButton::clicked, this, [this] {
    m_own = false;
    emit useRequested(spec());
  });
  connect(m_progress, &ProgressRow::cancelRequested, &m_preparer, &DataPreparer::drop);
  connect(&m_preparer, &DataPreparer::busyChanged, this, [this] {
    if (m_preparer.busy()) m_progress->start(tr("Preparing…"));
    m_progress->setVisible(m_preparer.busy());
    refresh();
  });
  connect(&m_preparer, &DataPreparer::progressed, this, &DataPage::showProgress);
  connect(&m_preparer, &DataPreparer::prepared, this, [this](const DataReport& report) {
    setReport(report);
    emit prepared();
  });
  connect(&m_preparer, &DataPreparer::failed, this, [this](const QString& reason) {
    m_banner->showMessage({.kind = BannerKind::danger,
                           .title = tr("This cannot be trained on"),
                           .text = inWords(reason),
                           .details = {},
                           .actions = {}});
  });
  connect(m_results, &DataResults::compareRequested, this,
          [this](const QString& path) { m_preparer.compare(path); });
  connect(&m_preparer, &DataPreparer::compared, m_results, &DataResults::addComparison);
}

void DataPage::addSources(const QStringList& paths) {
  m_sources->add(paths);
}

void DataPage::setPlan(const RunSpec& spec) {
  const bool same = spec.model.context == m_plan.model.context &&
                    spec.train.micro_batch == m_plan.train.micro_batch &&
                    spec.train.seed == m_plan.train.seed;
  m_plan = spec;
  if (!m_own) {
    if (m_sources->model()->sources() != spec.sources) m_sources->setSources(spec.sources);
    m_corpus->show(spec);
  }
  if (!same || !m_own) setReport(std::nullopt);
}

RunSpec DataPage::spec() const {
  RunSpec spec = m_plan;
  spec.sources = m_sources->model()->sources();
  m_corpus->fill(spec);
  return spec;
}

void DataPage::change() {
  m_own = true;
  m_banner->hide();
  setReport(std::nullopt);
}

void DataPage::setReport(const std::optional<DataReport>& report) {
  // What is being prepared would be of what was.
  if (!report) m_preparer.drop();
  m_report = report;
  m_results->showReport(report);
  refresh();
}

QString DataPage::obstacle() const {
  const std::vector<SourceListModel::Row>& rows = m_sources->model()->rows();
  if (rows.empty()) return tr("Choose a source first");
  for (const SourceListModel::Row& row : rows) {
    if (row.preview && !row.preview->problem.empty())
      return QString::fromStdString(row.preview->problem);
  }
  if (m_corpus->hasProblem()) return tr("A field of Tokens needs to be changed");
  return {};
}

void DataPage::refresh() {
  const QString reason = obstacle();
  m_stack->setCurrentIndex(m_sources->model()->rows().empty() ? 0 : 1);
  m_use->setEnabled(reason.isEmpty());
  m_use->setToolTip(reason);
  m_prepare->setEnabled(reason.isEmpty() && !m_preparer.busy() && !m_report);
  m_prepare->setToolTip(
      !reason.isEmpty() ? reason
      : m_report        ? tr("It is prepared as it is")
                 : tr("Make tokens of it as a run does; a run that uses it then starts at once"));
  m_header->setSubtitle(m_report ? tr("Fingerprint %1").arg(m_report->fingerprint) : QString());
}

void DataPage::showLooked() {
  m_results->showPreview(m_sources->shown());
  std::vector<SourcePreview> previews;
  for (const SourceListModel::Row& row : m_sources->model()->rows())
    if (row.preview) previews.push_back(*row.preview);
  m_results->showFaults(previews);
  const SourcePreview* shown = m_sources->shown();
  if (shown != nullptr && !shown->problem.empty()) {
    m_banner->showMessage({.kind = BannerKind::danger,
                           .title = tr("This source cannot be used"),
                           .text = QString::fromStdString(shown->problem),
                           .details = {},
                           .actions = {}});
  } else if (!m_preparer.busy()) {
    m_banner->hide();
  }
  refresh();
}

void DataPage::prepare() {
  if (!obstacle().isEmpty()) return;
  m_banner->hide();
  m_preparer.prepare(spec());
}

void DataPage::showProgress(const CorpusProgress& progress) {
  QString title = QString::fromStdString(progress.stage);
  if (progress.counts.documents > 0) {
    title = tr("%1: %2 documents, %3 tokens")
                .arg(title, formatThousands(progress.counts.documents),
                     formatCount(static_cast<double>(progress.counts.tokens)));
  }
  m_progress->setTitle(title);
  m_progress->setProgress(progress.done_bytes, progress.total_bytes);
}

}  // namespace athanor
