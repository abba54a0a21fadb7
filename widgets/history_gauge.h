// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Ten minutes of one reading as a filled area 34 px high, under its name and value.

#include <QString>
#include <QVector>
#include <QWidget>

namespace athanor {

struct GaugeSample {
  double seconds = 0;  ///< on any clock that runs forward
  double value = 0;    ///< not finite: a lost sample, drawn as a gap
};

class HistoryGauge : public QWidget {
  Q_OBJECT
 public:
  /// The scale is fixed; `series` is 1…8.
  HistoryGauge(const QString& name, double minimum, double maximum, int series,
               QWidget* parent = nullptr);

  void setScale(double minimum, double maximum);
  void append(const GaugeSample& sample);
  void clear();
  /// Shown at the right, for example "341 of 360 W".
  void setValueText(const QString& text);
  /// A warning such as "too hot" turns the value to icon and words in the warning colour; empty
  /// clears it.
  void setWarning(const QString& reason);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintHeader(QPainter& painter) const;
  void paintArea(QPainter& painter, const QRectF& area) const;
  void updateAccessible();

  QString m_name;
  double m_minimum;
  double m_maximum;
  int m_series;
  QVector<GaugeSample> m_samples;
  QString m_valueText;
  QString m_warning;
};

}  // namespace athanor
