// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/runs_page.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/base/json.h"
#include "engine/session/prepared_data.h"
#include "gui/models/run_status.h"
#include "gui/pages/drop_target.h"
#include "gui/pages/import_menu.h"
#include "gui/pages/page_header.h"
#include "gui/pages/run_delegate.h"
#include "gui/pages/run_details.h"
#include "gui/pages/run_diff.h"
#include "gui/pages/run_points.h"
#include "gui/pages/space_dialog.h"
#include "gui/run/attempt.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/empty_state.h"
#include "widgets/format.h"
#include "widgets/icons.h"
#include "widgets/loss_plot.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

constexpr int kPoll_ms = 1000;
constexpr int kRow_px = 28;
constexpr int kDetails_px = 364;

}  // namespace

RunsPage::RunsPage(RunStore* store, RunController* controller, RunDeletion* deletion,
                   QWidget* parent)
    : QWidget(parent),
      m_store(store),
      m_controller(controller),
      m_deletion(deletion),
      m_model(store),
      m_banner(new Banner),
      m_filter(new QLineEdit),
      m_stack(new QStackedWidget),
      m_table(new QTableView),
      m_curves(new LossPlot(tr("Validation loss (nats per token)"))),
      m_which(new Segmented(tr("Curves of"), {tr("Validation"), tr("Training")})),
      m_details(new RunDetails),
      m_diff(new RunDiff),
      m_side(new QStackedWidget) {
  m_filter->setPlaceholderText(tr("Name, tag, note or state"));
  m_filter->setAccessibleName(tr("Show only runs whose name, tags, notes or state have this"));
  m_filter->setClearButtonEnabled(true);
  m_filter->setFixedWidth(300);
  m_filter->addAction(icon("search", Tone::muted), QLineEdit::LeadingPosition);
  auto* header = new PageHeader(tr("Runs"));
  header->addBesideTitle(m_filter);
  header->addAction(importButton());
  QPushButton* space = plainButton(tr("Disk space…"));
  space->setObjectName("diskSpace");
  header->addAction(space);
  connect(space, &QPushButton::clicked, this, [this] {
    SpaceDialog dialog(m_store->home(), this);
    connect(&dialog, &SpaceDialog::cleaned, this, &RunsPage::refresh);
    dialog.exec();
  });
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->setHandleWidth(12);
  splitter->setChildrenCollapsible(false);
  splitter->addWidget(makeTable());
  splitter->addWidget(makeBelow());
  splitter->setSizes({220, 400});
  auto* none = new EmptyState("runs", tr("Nothing has been trained yet"), tr("Plan a run"));
  connect(none, &EmptyState::activated, this, &RunsPage::planRequested);
  none->addButton(importButton());
  auto* drop = new DropTarget(this, tr("Drop a model to import it, or a run's folder"));
  connect(drop, &DropTarget::dropped, this, &RunsPage::dropped);
  m_stack->addWidget(none);
  m_stack->addWidget(splitter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(header);
  layout->addWidget(m_banner);
  layout->addWidget(m_stack, 1);
  m_poll.setInterval(kPoll_ms);
  connect(&m_poll, &QTimer::timeout, this, &RunsPage::refresh);
  connect(m_filter, &QLineEdit::textChanged, &m_sorted,
          &QSortFilterProxyModel::setFilterFixedString);
  connect(controller, &RunController::stateChanged, this, &RunsPage::updateChosen);
  connect(deletion, &RunDeletion::pendingChanged, this, [this] {
    const std::optional<qint64> pending = m_deletion->pending();
    const int row = m_table->currentIndex().row();
    m_model.setHidden(pending ? std::set<std::int64_t>{*pending} : std::set<std::int64_t>{});
    refresh();
    // The next one takes the place of what went.
    if (!chosen()) m_table->selectRow(std::clamp(row, 0, std::max(0, m_sorted.rowCount() - 1)));
    showCurves();
  });
  connect(&m_model, &RunListModel::editFailed, this,
          [this](const QString& reason) { showProblem(tr("The run was not changed"), reason); });
  connectDetails();
  refresh();
}

QPushButton* RunsPage::importButton() {
  QPushButton* button = plainButton(tr("Import"), "import");
  auto* menu = new ImportMenu(button);
  button->setMenu(menu);
  connect(menu, &ImportMenu::chosen, this, &RunsPage::importRequested);
  return button;
}

QWidget* RunsPage::makeTable() {
  m_sorted.setSourceModel(&m_model);
  m_sorted.setSortRole(RunListModel::sortRole);
  m_sorted.setFilterCaseSensitivity(Qt::CaseInsensitive);
  m_sorted.setFilterRole(RunListModel::searchRole);
  m_sorted.setFilterKeyColumn(RunListModel::name);
  m_table->setModel(&m_sorted);
  m_table->setItemDelegate(new RunDelegate(m_table));
  m_table->setAccessibleName(tr("Runs"));
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m_table->setEditTriggers(QAbstractItemView::EditKeyPressed);
  m_table->setShowGrid(false);
  m_table->setWordWrap(false);
  m_table->setTabKeyNavigation(false);
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(RunListModel::when, Qt::DescendingOrder);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(kRow_px);
  m_table->horizontalHeader()->setHighlightSections(false);
  // So that a title ends where the numbers below it end.
  m_table->horizontalHeader()->setStyleSheet("QHeaderView::section { padding: 0 0 0 8px; }");
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_table->horizontalHeader()->setSectionResizeMode(RunListModel::name, QHeaderView::Stretch);
  connect(m_table, &QTableView::doubleClicked, this, [this] {
    if (const auto run = chosen()) emit openRequested(run->id);
  });
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    updateChosen();
    showCurves();
  });
  auto* remove = new QShortcut(QKeySequence(Qt::Key_Delete), m_table);
  remove->setContext(Qt::WidgetShortcut);
  connect(remove, &QShortcut::activated, this, &RunsPage::deleteChosen);
  auto* card = new Card;
  card->content()->addWidget(m_table);
  return card;
}

QWidget* RunsPage::makeBelow() {
  auto* curves = new Card;
  m_curves->setComplete(true);
  m_curves->setEmptyText(tr("Choose runs above to compare their validation loss"));
  curves->setTitle(tr("Curves"));
  curves->addHeaderWidget(m_which);
  connect(m_which, &Segmented::currentChanged, this, &RunsPage::showCurves);
  curves->content()->addWidget(m_curves);
  m_side->addWidget(m_details);
  m_side->addWidget(m_diff);
  m_side->setFixedWidth(kDetails_px);
  auto* below = new QWidget;
  auto* layout = new QHBoxLayout(below);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(curves, 1);
  layout->addWidget(m_side);
  return below;
}

void RunsPage::connectDetails() {
  connect(m_details, &RunDetails::openRequested, this, [this] {
    if (const auto run = chosen()) emit openRequested(run->id);
  });
  connect(m_details, &RunDetails::talkRequested, this, [this] {
    if (const auto run = chosen()) emit talkRequested(run->id, -1);
  });
  connect(m_details, &RunDetails::resumeFromRequested, this, [this](qint64 step) {
    if (const auto run = chosen()) emit resumeRequested(run->id, step);
  });
  connect(m_details, &RunDetails::exportRequested, this, [this] {
    if (const auto run = chosen()) emit exportRequested(run->id);
  });
  connect(m_details, &RunDetails::cloneRequested, this, &RunsPage::cloneChosen);
  connect(m_details, &RunDetails::notesEdited, this, [this](qint64 runId, const QString& notes) {
    const QString problem = attempt([&] {
      const std::optional<RunRecord> run = m_store->run(runId);
      if (!run) return;
      m_store->describe(runId,
                        {.name = run->name, .tags = run->tags, .notes = notes.toStdString()});
      refresh();
    });
    if (!problem.isEmpty()) showProblem(tr("The notes were not kept"), problem);
  });
  connect(m_details, &RunDetails::renameRequested, this, [this] {
    const QModelIndex row = m_table->currentIndex();
    if (row.isValid()) m_table->edit(row.siblingAtColumn(RunListModel::name));
  });
  connect(m_details, &RunDetails::deleteRequested, this, &RunsPage::deleteChosen);
}

void RunsPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  // A process that trained may have been killed since.
  attempt([this] { m_store->mark_interrupted(); });
  refresh();
  if (!chosen() && m_sorted.rowCount() > 0) m_table->selectRow(0);
  m_poll.start();
}

void RunsPage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  m_poll.stop();
}

void RunsPage::refresh() {
  // A name that is being typed would be overwritten.
  if (m_table->isPersistentEditorOpen(m_table->currentIndex())) return;
  const std::optional<RunRecord> before = chosen();
  const QString problem = m_model.refresh();
  if (!problem.isEmpty()) showProblem(tr("The runs could not be read"), problem);
  m_stack->setCurrentIndex(m_model.rowCount() > 0 ? 1 : 0);
  if (before && !chosen()) choose(before->id);
  updateChosen();
}

void RunsPage::choose(qint64 runId) {
  const int row = m_model.rowOf(runId);
  if (row < 0) return;
  m_table->selectRow(m_sorted.mapFromSource(m_model.index(row, 0)).row());
}

void RunsPage::showArrived(qint64 runId) {
  m_filter->clear();
  refresh();
  choose(runId);
}

std::optional<RunRecord> RunsPage::chosen() const {
  const QModelIndexList rows = m_table->selectionModel()->selectedRows();
  if (rows.isEmpty()) return std::nullopt;
  return m_model.record(m_sorted.mapToSource(rows.front()).row());
}

void RunsPage::updateChosen() {
  const std::optional<RunRecord> run = chosen();
  std::vector<CheckpointRow> checkpoints;
  std::optional<RehearsalRow> rehearsal;
  if (run) {
    attempt([&] {
      checkpoints = m_store->checkpoints(run->id);
      rehearsal = m_store->rehearsal(run->id);
    });
  }
  m_details->showRun(run, rehearsal, checkpoints, !m_controller->busy());
  m_details->showData(
      run ? dataText(*run) : noValue(),
      run ? QString::fromStdString(kept_fingerprint(m_store->run_folder(run->id))) : QString());
  const std::vector<RunRecord> runs = selected();
  m_side->setCurrentIndex(runs.size() > 1 ? 1 : 0);
  if (runs.size() > 1) m_diff->showRuns(runs);
}

std::vector<RunRecord> RunsPage::selected() const {
  std::vector<RunRecord> runs;
  for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) {
    const auto run = m_model.record(m_sorted.mapToSource(index).row());
    if (run) runs.push_back(*run);
  }
  return runs;
}

void RunsPage::cloneChosen() {
  const std::optional<RunRecord> run = chosen();
  if (!run) return;
  RunSpec spec;
  const QString problem = attempt([&] {
    spec = run_spec_from_json(parse_json(run->spec, run->name), run->name);
    spec.imported_from.clear();
    spec.name = tr("%1 again").arg(QString::fromStdString(run->name)).toStdString();
  });
  if (problem.isEmpty()) {
    emit cloneRequested(spec);
  } else {
    showProblem(tr("The run's settings could not be read"), problem);
  }
}

void RunsPage::showCurves() {
  QVector<PlotCurve> curves;
  const QString problem = attempt([&] {
    for (const RunRecord& run : selected()) {
      curves.push_back({.name = QString::fromStdString(run.name),
                        .series = seriesOf(run.id),
                        .points = m_which->current() == 0
                                      ? pointsOf(m_store->evaluations(run.id))
                                      : pointsOf(m_store->metrics(run.id), &MetricRow::loss)});
    }
  });
  if (!problem.isEmpty()) showProblem(tr("The curves could not be read"), problem);
  m_curves->setTitle(m_which->current() == 0 ? tr("Validation loss (nats per token)")
                                             : tr("Training loss (nats per token)"));
  m_curves->setNote(tr("%1 of %2 runs").arg(curves.size()).arg(m_model.rowCount()));
  m_curves->setCurves(curves);
}

void RunsPage::deleteChosen() {
  const std::optional<RunRecord> run = chosen();
  if (!run || isLive(run->status)) return;
  m_deletion->begin(run->id);
}

void RunsPage::showProblem(const QString& title, const QString& text) {
  m_banner->showMessage(
      {.kind = BannerKind::danger, .title = title, .text = text, .details = {}, .actions = {}});
}

}  // namespace athanor
