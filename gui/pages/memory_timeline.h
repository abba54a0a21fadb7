// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Memory through one step, its peak marked, and what is alive there or under the pointer.

#include <QWidget>
#include <optional>

#include "engine/train/train_memory.h"

namespace athanor {

class AliveList;
class SmallPlot;

class MemoryTimeline : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryTimeline(QWidget* parent = nullptr);

  void showPlan(const TrainPlan& plan);
  AliveList* alive() const { return m_alive; }

 private:
  /// nullopt: the peak.
  void showMoment(std::optional<double> moment);

  TrainPlan m_plan;
  std::int64_t m_shown = -1;  ///< the moment in the list
  SmallPlot* m_plot;
  AliveList* m_alive;
};

}  // namespace athanor
