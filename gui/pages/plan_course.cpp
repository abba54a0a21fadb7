// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/plan_course.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableView>
#include <algorithm>

#include "engine/base/file.h"
#include "engine/planner/buffer_table.h"
#include "gui/pages/memory_timeline.h"
#include "gui/run/attempt.h"
#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/segmented.h"
#include "widgets/small_plot.h"

namespace athanor {
namespace {

constexpr int kRatePoints = 200;
constexpr int kLeast_px = 150;
constexpr int kRow_px = 24;

enum View { memory, buffers, rate };

}  // namespace

PlanCourse::PlanCourse(QWidget* parent)
    : Card({}, parent),
      m_views(
          new Segmented(tr("What to show"), {tr("Memory"), tr("Buffers"), tr("Learning rate")})),
      m_stack(new QStackedWidget),
      m_unit(makeLabel(tr("MiB, over one step"), FontRole::note, Tone::muted)),
      m_memory(new MemoryTimeline),
      m_rate(new SmallPlot(tr("Learning rate"), 4, formatLearningRate)),
      m_export(flatButton(tr("Export"), "export")) {
  m_rate->setFilled(true);
  auto* row = new QHBoxLayout;
  row->addWidget(m_views);
  row->addSpacing(4);
  row->addWidget(m_unit);
  row->addStretch(1);
  row->addWidget(m_export);
  content()->addLayout(row);
  content()->addWidget(m_stack, 1);
  m_stack->addWidget(m_memory);
  m_stack->addWidget(makeTable());
  m_stack->addWidget(m_rate);
  setMinimumHeight(kLeast_px);
  connect(m_views, &Segmented::currentChanged, this, &PlanCourse::choose);
  connect(m_export, &QPushButton::clicked, this, &PlanCourse::exportBuffers);
  choose(memory);
}

QTableView* PlanCourse::makeTable() {
  m_sorted.setSourceModel(&m_buffers);
  m_sorted.setSortRole(BufferListModel::sortRole);
  auto* table = new QTableView;
  table->setModel(&m_sorted);
  table->setAccessibleName(tr("Buffers of a step"));
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setTabKeyNavigation(false);
  table->setSortingEnabled(true);
  table->sortByColumn(BufferListModel::size, Qt::DescendingOrder);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(kRow_px);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
  table->horizontalHeader()->setSectionResizeMode(BufferListModel::name, QHeaderView::Stretch);
  return table;
}

void PlanCourse::choose(int view) {
  m_stack->setCurrentIndex(view);
  m_export->setVisible(view == buffers);
  m_unit->setVisible(view == memory);
  // Hundreds of rows, which no one sees while another view is shown.
  if (view == buffers) m_buffers.setPlan(m_plan);
}

void PlanCourse::showPlan(const TrainConfig& train, const TrainPlan& plan) {
  m_plan = plan;
  m_memory->showPlan(m_plan);
  showRate(train);
  if (m_views->current() == buffers) m_buffers.setPlan(m_plan);
}

void PlanCourse::showRate(const TrainConfig& train) {
  QVector<PlotPoint> points;
  const std::int64_t count = std::min<std::int64_t>(train.steps, kRatePoints);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step =
        count < 2 ? 1
                  : 1 + static_cast<std::int64_t>(static_cast<double>(i) * (train.steps - 1) /
                                                  static_cast<double>(count - 1));
    points.push_back({.step = static_cast<double>(step), .value = learning_rate_at(train, step)});
  }
  m_rate->setSeries(points);
  m_rate->setNote(tr("highest %1").arg(formatLearningRate(train.learning_rate)));
}

void PlanCourse::exportBuffers() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Export the buffers"),
                                                    tr("buffers.csv"), tr("Values (*.csv)"));
  if (path.isEmpty()) return;
  const QString problem =
      attempt([&] { write_file_atomically(path.toStdString(), buffer_table_csv(m_plan)); });
  if (!problem.isEmpty()) emit exportFailed(problem);
}

}  // namespace athanor
