// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// How a planned run goes on: memory through one step, every buffer of it, the learning rate.

#include <QSortFilterProxyModel>

#include "gui/models/buffer_list_model.h"
#include "widgets/card.h"

class QLabel;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace athanor {

class MemoryTimeline;
class Segmented;
class SmallPlot;

class PlanCourse : public Card {
  Q_OBJECT
 public:
  explicit PlanCourse(QWidget* parent = nullptr);

  void showPlan(const TrainConfig& train, const TrainPlan& plan);

 signals:
  void exportFailed(const QString& reason);

 private:
  QTableView* makeTable();
  void choose(int view);
  void showRate(const TrainConfig& train);
  void exportBuffers();

  TrainPlan m_plan;
  BufferListModel m_buffers;
  QSortFilterProxyModel m_sorted;
  Segmented* m_views;
  QStackedWidget* m_stack;
  QLabel* m_unit;
  MemoryTimeline* m_memory;
  SmallPlot* m_rate;
  QPushButton* m_export;
};

}  // namespace athanor
