// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A QCustomPlot in the window's looks: axes, ticks, pan and zoom along x, crosshair, marks.

#include <qcustomplot.h>

#include <optional>

#include "widgets/plot_crosshair.h"
#include "widgets/plot_marks.h"
#include "widgets/plot_series.h"
#include "widgets/plot_ticker.h"

namespace athanor {

/// It only reports what the user does with the range and the crosshair; its owner decides.
class PlotArea : public QCustomPlot {
  Q_OBJECT
 public:
  explicit PlotArea(QWidget* parent = nullptr);

  void setAxis(PlotAxis axis);
  PlotAxis axis() const { return m_axis; }
  void setLogY(bool log);
  bool logY() const { return m_log; }
  void setTickCountY(int count);
  /// Room for labels: x tick labels below, and at the right for labels at curve ends.
  void setLabelRoom(bool xLabels, int right_px);
  void setTickLabelsShown(bool shown);  ///< hidden while the plot is empty
  void setXRange(double low, double high);
  void setYRange(const ValueRange& range);
  PlotWindow window() const;

  QCPGraph* addCurve();
  void setMarkings(const PlotMarkings& markings) { m_marks->setMarkings(markings); }
  PlotCrosshair* crosshair() { return m_crosshair; }
  void replotCrosshair();
  void replotSoon();

 signals:
  void xRangeChosen(double low, double high);
  void followChosen();
  void crosshairMoved(std::optional<double> x);
  void checkpointChosen(int index);
  void resized();
  void themeApplied();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void applyTheme();
  void styleAxis(QCPAxis* axis);
  void zoom(double factor, double centre);
  void pan(double share);

  PlotAxis m_axis = PlotAxis::step;
  bool m_log = false;
  QSharedPointer<XTicker> m_xTicker;
  QSharedPointer<YTicker> m_yTicker;
  PlotCrosshair* m_crosshair;
  PlotMarks* m_marks;
  std::optional<QPointF> m_dragFrom;
  QCPRange m_dragRange;
  bool m_dragged = false;
};

}  // namespace athanor
