// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The memory of a device as a stacked bar: planned segments, what is left, reserve, others.

#include <QString>
#include <QVector>
#include <QWidget>
#include <cstdint>

namespace athanor {

/// The order and series of the design: weights 2, gradients 3, master copy 4, moments 5,
/// activations 1, LM-head chunk 7, outside the arena 8, buffers 6.
struct MemorySegment {
  QString name;
  std::int64_t bytes = 0;
  int series = 1;  ///< 1…8
};

struct MemoryBarData {
  QVector<MemorySegment> segments;
  std::int64_t capacity_bytes = 0;  ///< the whole device; 0 shows an empty bar
  std::int64_t free_bytes = 0;      ///< capacity less what other processes hold now
  std::int64_t reserve_bytes = 0;   ///< kept for the desktop, ends at the free line
  QString free_name = {};           ///< at the free line; empty: "free now"
  QString others_name = {};         ///< of what is behind it; empty: "Other processes"
};

/// Three forms: full (36-px bar, free line, scale, legend), without legend, and compact (the bar
/// alone, as high as the widget, no text) for the strip, the run page and the proposal cards.
class MemoryBar : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryBar(QWidget* parent = nullptr);

  void setData(const MemoryBarData& data);
  const MemoryBarData& data() const { return m_data; }
  void setLegendVisible(bool visible);
  void setScaleVisible(bool visible);
  /// Height of the bar in px, for example 14, 10 or 8.
  void setCompact(int height_px);

  std::int64_t planned_bytes() const;
  /// Free less reserve less planned; negative when over budget.
  std::int64_t left_bytes() const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Piece;
  QVector<Piece> pieces() const;
  int legendCount() const;
  QRect barRect() const;
  std::int64_t scale_bytes() const;
  qreal xOf(std::int64_t bytes) const;
  void paintPieces(QPainter& painter) const;
  void paintOverflow(QPainter& painter) const;
  void paintFreeLine(QPainter& painter) const;
  void paintScale(QPainter& painter) const;
  void paintLegend(QPainter& painter) const;
  QString tooltipAt(const QPoint& position) const;
  void updateAccessible();

  MemoryBarData m_data;
  bool m_legend = true;
  bool m_scale = true;
  int m_compact_px = 0;
};

}  // namespace athanor
