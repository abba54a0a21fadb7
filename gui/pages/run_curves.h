// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The curves of one run: loss with its tools, and speed, learning rate and gradient norm below.

#include <QWidget>

#include "gui/run/metric_channel.h"
#include "gui/run/run_history.h"
#include "widgets/plot_point.h"

class QCheckBox;
class QLabel;
class QPushButton;
class QSlider;

namespace athanor {

class LossPlot;
class Segmented;
class SmallPlot;

class RunCurves : public QWidget {
  Q_OBJECT
 public:
  explicit RunCurves(QWidget* parent = nullptr);

  /// The row of tools, which stands above curves and side column alike.
  QWidget* tools() const { return m_tools; }

  void clear();
  void replace(const RunHistory& history);
  /// Rows alone, from the channel.
  void append(const RunRows& rows);
  /// Rows, and the checkpoints and resumes as they now are.
  void append(const RunHistory& news);
  /// While the run is being trained its newest step is followed; afterwards the plots end with it.
  void setLive(bool live);
  qsizetype pointCount() const { return m_points; }

 signals:
  void checkpointClicked(qint64 step);
  void exported(const QString& problem);

 private:
  QWidget* makeTools();
  QWidget* makeSmallPlots();
  void updateFollowing();
  /// To the plots below the loss.
  void appendBelow(const std::vector<MetricRow>& rows);
  void setMarks(const RunHistory& news);
  void exportAs();

  QWidget* m_tools;
  LossPlot* m_loss;
  SmallPlot* m_speed;
  SmallPlot* m_rate;
  SmallPlot* m_norm;
  Segmented* m_axis;
  QCheckBox* m_logY;
  QCheckBox* m_clip;
  QSlider* m_smoothing;
  QLabel* m_smoothingText;
  QPushButton* m_following;
  std::vector<EvaluationRow> m_evaluations;
  qsizetype m_points = 0;
  bool m_live = true;
};

}  // namespace athanor
