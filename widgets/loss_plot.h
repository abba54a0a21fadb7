// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The loss of a run: raw shadow under a smoothed line, validation, checkpoints and resumes; or an
/// overlay of the curves of several runs.

#include <QString>
#include <QVector>
#include <QWidget>
#include <memory>
#include <optional>

#include "widgets/plot_point.h"

namespace athanor {

/// It has no frame: put it into a Card without a title. Drag pans, the wheel zooms, a double click
/// or Home follows again; Left, Right, + and − do the same from the keyboard.
class LossPlot : public QWidget {
  Q_OBJECT
 public:
  explicit LossPlot(const QString& title, QWidget* parent = nullptr);
  ~LossPlot() override;

  void setTitle(const QString& title);
  void setNote(const QString& note);       ///< muted, at the right of the legend
  void setEmptyText(const QString& text);  ///< shown while there is no point

  /// The raw training series; steps must rise. Where an appended step does not, the run was
  /// resumed: what had been there from that step on is kept as the faded abandoned tail.
  void setSeries(const QVector<PlotPoint>& points);
  void append(const QVector<PlotPoint>& points);
  void setValidation(const QVector<PlotPoint>& points);
  void appendValidation(const QVector<PlotPoint>& points);
  void setCheckpoints(const QVector<PlotPoint>& checkpoints);
  void setResumes(const QVector<PlotMark>& resumes);
  /// Named curves of several runs with a label at each end. They stand beside the run's own series;
  /// an overlay page leaves that empty.
  void setCurves(const QVector<PlotCurve>& curves);
  /// The band expected at `at.step`, drawn from the last point; nullopt removes it.
  struct Forecast {
    PlotPoint at;
    double low = 0;
    double high = 0;
  };
  void setForecast(const std::optional<Forecast>& forecast);
  void clear();  ///< everything but the settings

  void setAxis(PlotAxis axis);
  void setLogY(bool log);
  void setClipOutliers(bool clip);
  void setSmoothing(double weight);  ///< 0 (none) … 0.999
  void setFollowing(bool following);
  /// Nothing more will come: x ends just after the last point, not at a round number.
  void setComplete(bool complete);
  PlotAxis axis() const;
  bool isFollowing() const;

  double xMinimum() const;
  double xMaximum() const;
  void setXRange(double minimum, double maximum);  ///< stops following
  void setCrosshair(std::optional<double> x);      ///< in units of the axis

  /// Values that cannot be drawn, in words ("3 values are not finite"); empty when all can.
  QString warning() const;

  /// Both return an empty string, or a sentence on why the file could not be written.
  QString exportCsv(const QString& path) const;
  QString exportPng(const QString& path) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void checkpointClicked(double step);
  void followingChanged(bool following);
  void xRangeChanged(double minimum, double maximum);
  void axisChanged(PlotAxis axis);
  void crosshairMoved(std::optional<double> x);
  void warningChanged(const QString& warning);

 private:
  class Private;
  std::unique_ptr<Private> d;
};

}  // namespace athanor
