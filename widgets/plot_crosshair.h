// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The crosshair of a plot: a vertical line, dots on the curves, and a box that says the values.

#include <qcustomplot.h>

#include <optional>

namespace athanor {

struct CrosshairRow {
  QString name;
  QString value;
};

class PlotCrosshair : public QCPLayerable {
 public:
  PlotCrosshair(QCustomPlot* plot, const QString& layer);

  /// In axis coordinates; nullopt hides it.
  void setX(std::optional<double> x) { m_x = x; }
  std::optional<double> x() const { return m_x; }
  void setReading(const QString& heading, const QVector<CrosshairRow>& rows);
  void setDots(const QVector<QPointF>& dots) { m_dots = dots; }

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  void draw(QCPPainter* painter) override;

 private:
  void drawBox(QCPPainter* painter, double x_px) const;

  std::optional<double> m_x;
  QString m_heading;
  QVector<CrosshairRow> m_rows;
  QVector<QPointF> m_dots;
};

}  // namespace athanor
