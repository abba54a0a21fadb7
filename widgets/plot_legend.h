// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The line above a plot: title, the curves with their value now, and a note or warning at the
/// right.

#include <QString>
#include <QVector>
#include <QWidget>

#include "widgets/plot_point.h"

namespace athanor {

struct LegendEntry {
  enum class Kind { line, shadow, dotted };
  QString name;
  QString value;
  int series = 1;
  Kind kind = Kind::line;
};

class PlotLegend : public QWidget {
  Q_OBJECT
 public:
  explicit PlotLegend(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  /// The title goes on with what x is: "by step".
  void setAxis(PlotAxis axis);
  /// Instead, where x is none of those.
  void setXName(const QString& name);
  /// Title and axis, as they are read aloud.
  QString heading() const;
  void setEntries(const QVector<LegendEntry>& entries);
  void setNote(const QString& note);
  /// Takes the place of the note, with its icon.
  void setWarning(const QString& warning);

  QSize sizeHint() const override { return {240, 22}; }
  QSize minimumSizeHint() const override { return {120, 22}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  int paintRight(QPainter& painter) const;
  int paintEntry(QPainter& painter, const LegendEntry& entry, int x, int limit) const;

  QString m_title;
  QString by() const;

  PlotAxis m_axis = PlotAxis::step;
  QString m_xName;
  QVector<LegendEntry> m_entries;
  QString m_note;
  QString m_warning;
};

}  // namespace athanor
