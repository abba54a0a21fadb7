// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/memory_timeline.h"

#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "engine/planner/buffer_table.h"
#include "gui/pages/alive_list.h"
#include "widgets/format.h"
#include "widgets/small_plot.h"

namespace athanor {
namespace {

constexpr double kMib = 1 << 20;
constexpr int kGap_px = 16;
constexpr int kList_px = 260;

QString placeOf(const TrainPlan& plan, std::int64_t moment) {
  const std::int64_t layer = layer_at(plan, moment) + 1;
  switch (phase_at(plan, moment)) {
    case Phase::forward:
      return layer > 0 ? MemoryTimeline::tr("forward of layer %1").arg(layer)
                       : MemoryTimeline::tr("the forward direction");
    case Phase::backward:
      return layer > 0 ? MemoryTimeline::tr("backward of layer %1").arg(layer)
                       : MemoryTimeline::tr("the backward direction");
    case Phase::loss:
      return MemoryTimeline::tr("the loss");
    case Phase::update:
      return MemoryTimeline::tr("the update");
    case Phase::evaluation:
      return MemoryTimeline::tr("validation");
    case Phase::sample:
      return MemoryTimeline::tr("a sample");
    case Phase::set_up:
      break;
  }
  return MemoryTimeline::tr("the set-up");
}

}  // namespace

MemoryTimeline::MemoryTimeline(QWidget* parent)
    : QWidget(parent),
      m_plot(new SmallPlot(tr("Memory (MiB)"), 1, [](double mib) { return formatFixed(mib, 1); })),
      m_alive(new AliveList) {
  m_plot->setFilled(true);
  m_plot->setXName(tr("over one step"));
  m_plot->setHeadingVisible(false);
  m_alive->setMaximumWidth(kList_px);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(kGap_px);
  layout->addWidget(m_plot, 2);
  layout->addWidget(m_alive, 1);
  connect(m_plot, &SmallPlot::crosshairMoved, this, &MemoryTimeline::showMoment);
}

void MemoryTimeline::showPlan(const TrainPlan& plan) {
  m_plan = plan;
  m_shown = -1;
  QVector<PlotPoint> points;
  for (const MemoryMoment& at : memory_timeline(m_plan)) {
    points.push_back(
        {.step = static_cast<double>(at.moment), .value = static_cast<double>(at.bytes) / kMib});
  }
  const std::int64_t peak = m_plan.memory.peak_moment;
  m_plot->setPeak(
      {.step = static_cast<double>(peak),
       .value = static_cast<double>(m_plan.memory.peak_bytes) / kMib},
      tr("peak %1, %2").arg(formatBytes(m_plan.memory.peak_bytes), placeOf(m_plan, peak)));
  m_plot->setSeries(points);
  showMoment(std::nullopt);
}

void MemoryTimeline::showMoment(std::optional<double> at) {
  if (m_plan.moments == 0) return;
  const std::int64_t moment = at ? std::clamp<std::int64_t>(std::llround(*at), 1, m_plan.moments)
                                 : m_plan.memory.peak_moment;
  // The pointer stays within a moment for several pixels.
  if (moment == m_shown) return;
  m_shown = moment;
  QVector<AliveRow> rows;
  std::int64_t sum = 0;
  for (const BufferGroup& group : groups_of(buffers_at(m_plan, moment))) {
    const QString name = QString::fromStdString(group.name);
    rows.push_back(
        {group.count == 1 ? name : tr("%1, %2 layers").arg(name).arg(group.count), group.bytes});
    sum += group.bytes;
  }
  // Where the peak lies is said beside its dot.
  m_alive->setContent(at ? tr("%1, %2").arg(formatBytes(sum), placeOf(m_plan, moment))
                         : tr("At the peak: %1").arg(formatBytes(sum)),
                      rows);
}

}  // namespace athanor
