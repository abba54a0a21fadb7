// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One plain curve under its title, x-linked with a LossPlot: speed, learning rate, gradient norm.

#include <QString>
#include <QVector>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>

#include "widgets/plot_point.h"

namespace athanor {

class LossPlot;

class SmallPlot : public QWidget {
  Q_OBJECT
 public:
  /// `format` writes the value now at the right of the title; `series` is 1…8.
  SmallPlot(const QString& title, int series, std::function<QString(double)> format,
            QWidget* parent = nullptr);
  ~SmallPlot() override;

  void setSeries(const QVector<PlotPoint>& points);
  void append(const QVector<PlotPoint>& points);
  void setResumes(const QVector<PlotMark>& resumes);
  /// A dot at the highest point, with words; it moves with the axis.
  void setPeak(const PlotPoint& at, const QString& label);
  void clear();
  /// Shares x range, axis and crosshair with `plot`, both ways, while both live.
  void linkTo(LossPlot* plot);
  /// Fills the area below the line at 22 %.
  void setFilled(bool filled);
  /// "by buffer": what x is, where it is neither step, tokens nor time.
  void setXName(const QString& name);
  void setNote(const QString& note);  ///< replaces the value at the right; empty shows the value

  /// Where a heading elsewhere says what is shown; read aloud all the same.
  void setHeadingVisible(bool visible);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void xRangeChanged(double minimum, double maximum);
  void crosshairMoved(std::optional<double> x);

 private:
  class Private;
  std::unique_ptr<Private> d;
};

}  // namespace athanor
