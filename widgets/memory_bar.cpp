// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/memory_bar.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "widgets/format.h"
#include "widgets/memory_bar_paint.h"
#include "widgets/number_label.h"
#include "widgets/pixel_split.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kBar_px = 36;
constexpr int kAbove_px = 22;
constexpr int kScale_px = 20;
constexpr int kLegendRow_px = 24;
constexpr int kLegendColumns = 3;
constexpr int kOverhang_px = 6;
constexpr int kLeastForFigure_px = 60;

}  // namespace

/// One stretch of the bar, in whole pixels from its left edge.
struct MemoryBar::Piece {
  enum class Kind { segment, left, reserve, others };
  Kind kind = Kind::segment;
  QString name;
  std::int64_t bytes = 0;
  int series = 1;
  int x_px = 0;
  int width_px = 0;
};

MemoryBar::MemoryBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFocusPolicy(Qt::NoFocus);
  updateAccessible();
}

void MemoryBar::setData(const MemoryBarData& data) {
  const int before = legendCount();
  m_data = data;
  updateAccessible();
  if (legendCount() != before) updateGeometry();
  update();
}

void MemoryBar::setLegendVisible(bool visible) {
  m_legend = visible;
  updateGeometry();
  update();
}

void MemoryBar::setScaleVisible(bool visible) {
  m_scale = visible;
  updateGeometry();
  update();
}

void MemoryBar::setCompact(int height_px) {
  m_compact_px = height_px;
  updateGeometry();
  update();
}

std::int64_t MemoryBar::planned_bytes() const {
  std::int64_t sum = 0;
  for (const MemorySegment& segment : m_data.segments)
    sum += segment.bytes;
  return sum;
}

std::int64_t MemoryBar::left_bytes() const {
  return m_data.free_bytes - m_data.reserve_bytes - planned_bytes();
}

QSize MemoryBar::sizeHint() const {
  if (m_compact_px > 0) return {96, m_compact_px};
  const int rows = (legendCount() + kLegendColumns - 1) / kLegendColumns;
  return {480, kAbove_px + kBar_px + (m_scale ? kScale_px : kOverhang_px) +
                   (m_legend ? 4 + rows * kLegendRow_px : 0)};
}

QSize MemoryBar::minimumSizeHint() const {
  return {m_compact_px > 0 ? 40 : 240, sizeHint().height()};
}

QRect MemoryBar::barRect() const {
  return m_compact_px > 0 ? rect() : QRect(0, kAbove_px, width(), kBar_px);
}

/// The device, or more where the plan does not fit on it.
std::int64_t MemoryBar::scale_bytes() const {
  const std::int64_t others = std::max<std::int64_t>(0, m_data.capacity_bytes - m_data.free_bytes);
  return std::max(m_data.capacity_bytes, planned_bytes() + (left_bytes() < 0 ? others / 4 : 0));
}

qreal MemoryBar::xOf(std::int64_t bytes) const {
  const std::int64_t scale = scale_bytes();
  return scale > 0 ? static_cast<double>(bytes) * barRect().width() / scale : 0;
}

QVector<MemoryBar::Piece> MemoryBar::pieces() const {
  QVector<std::int64_t> bytes;
  QVector<Piece> pieces;
  for (const MemorySegment& segment : m_data.segments) {
    bytes << segment.bytes;
    pieces << Piece{Piece::Kind::segment, segment.name, segment.bytes, segment.series, 0, 0};
  }
  const int width = barRect().width();
  const QVector<int> widths = splitPixels(bytes, scale_bytes(), width);
  int x = 0;
  for (int i = 0; i < pieces.size(); ++i) {
    pieces[i].x_px = x;
    pieces[i].width_px = widths[i];
    x += widths[i];
  }
  const auto rest = [&](Piece::Kind kind, const QString& name, std::int64_t size, int until_px) {
    const int end = std::clamp(until_px, x, width);
    pieces << Piece{kind, name, size, 0, x, end - x};
    x = end;
  };
  const std::int64_t reserveStart = m_data.free_bytes - m_data.reserve_bytes;
  rest(Piece::Kind::left, tr("Left"), std::max<std::int64_t>(0, left_bytes()),
       static_cast<int>(std::lround(xOf(reserveStart))));
  rest(Piece::Kind::reserve, tr("Desktop reserve"), m_data.reserve_bytes,
       static_cast<int>(std::lround(xOf(m_data.free_bytes))));
  rest(Piece::Kind::others,
       m_data.others_name.isEmpty() ? tr("Other processes") : m_data.others_name,
       std::max<std::int64_t>(0, m_data.capacity_bytes - m_data.free_bytes),
       static_cast<int>(std::lround(xOf(m_data.capacity_bytes))));
  return pieces;
}

/// Nothing is said of what takes nothing.
int MemoryBar::legendCount() const {
  const auto shown = std::count_if(m_data.segments.begin(), m_data.segments.end(),
                                   [](const MemorySegment& segment) { return segment.bytes > 0; });
  return static_cast<int>(shown) + (m_data.reserve_bytes > 0 ? 1 : 0) +
         (m_data.capacity_bytes > m_data.free_bytes ? 1 : 0);
}

void MemoryBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!isEnabled()) painter.setOpacity(0.55);
  painter.fillRect(barRect(), theme().raised);
  if (m_data.capacity_bytes <= 0) return;
  paintPieces(painter);
  if (left_bytes() < 0) paintOverflow(painter);
  if (m_compact_px > 0) return;
  paintFreeLine(painter);
  if (m_scale) paintScale(painter);
  if (m_legend) paintLegend(painter);
}

void MemoryBar::paintPieces(QPainter& painter) const {
  const QRect bar = barRect();
  QFont font = themedFont(FontRole::note);
  font.setWeight(QFont::DemiBold);
  painter.setFont(font);
  for (const Piece& piece : pieces()) {
    if (piece.width_px <= 0) continue;
    // The last pixel of a segment is the gap to the next.
    const bool segment = piece.kind == Piece::Kind::segment;
    const QRect area(bar.x() + piece.x_px, bar.y(),
                     segment ? std::max(1, piece.width_px - 1) : piece.width_px, bar.height());
    QColor ink = theme().text;
    switch (piece.kind) {
      case Piece::Kind::segment:
        painter.fillRect(area, seriesStyle(piece.series).colour);
        ink = seriesStyle(piece.series).label;
        break;
      case Piece::Kind::left:
        break;
      case Piece::Kind::reserve:
        paintReserve(painter, area);
        break;
      case Piece::Kind::others:
        paintOthers(painter, area);
        break;
    }
    const bool figure = segment || piece.kind == Piece::Kind::left;
    if (m_compact_px > 0 || !figure || piece.width_px < kLeastForFigure_px - (segment ? 0 : 16))
      continue;
    painter.setPen(ink);
    const QFontMetricsF metrics(font, this);
    QString text = formatGib(piece.bytes);
    const QString words = tr("%1 GiB left").arg(text);
    if (!segment && tabularWidth(words, metrics) + 16 <= piece.width_px) text = words;
    const qreal x = segment ? area.x() + 8 : area.center().x() - tabularWidth(text, metrics) / 2;
    drawTabular(painter, {x, area.center().y() + metrics.capHeight() / 2 + 0.5}, text);
  }
}

void MemoryBar::paintOverflow(QPainter& painter) const {
  const QRect bar = barRect();
  const int from = static_cast<int>(std::lround(xOf(m_data.free_bytes - m_data.reserve_bytes)));
  const int to = static_cast<int>(std::lround(xOf(planned_bytes())));
  paintExcess(painter,
              QRect(bar.x() + std::max(0, from), bar.y(), to - std::max(0, from), bar.height()));
}

void MemoryBar::paintFreeLine(QPainter& painter) const {
  const QRect bar = barRect();
  const int x = std::clamp(static_cast<int>(std::lround(xOf(m_data.free_bytes))), 1, width() - 1);
  painter.fillRect(QRect(x - 1, bar.y() - kOverhang_px, 2, bar.height() + 2 * kOverhang_px),
                   theme().text);
  painter.setFont(themedFont(FontRole::note));
  painter.setPen(theme().text);
  const QString free = m_data.free_name.isEmpty() ? tr("free now") : m_data.free_name;
  const QString text = tr("%1 %2 GiB").arg(free, formatGib(m_data.free_bytes));
  const int wide = painter.fontMetrics().horizontalAdvance(text);
  const int left = std::clamp(x + 3 - wide, 0, std::max(0, width() - wide));
  painter.drawText(QRect(left, 0, wide + 2, kAbove_px - kOverhang_px), Qt::AlignVCenter, text);
}

void MemoryBar::paintScale(QPainter& painter) const {
  painter.setFont(themedFont(FontRole::axis));
  painter.setPen(theme().muted);
  const double total = scale_bytes() / 1073741824.0;
  const int y = barRect().bottom() + 1 + kOverhang_px;
  const QString last = formatFixed(total, 2) + " GiB";
  const int lastWidth = painter.fontMetrics().horizontalAdvance(last);
  painter.drawText(QRect(0, y, width(), kScale_px - kOverhang_px), Qt::AlignRight, last);
  const double step = memoryScaleStep_gib(total);
  for (int i = 0; i * step < total; ++i) {
    const QString text = QString::number(i * step);
    const int x = static_cast<int>(std::lround(i * step / total * width()));
    const int wide = painter.fontMetrics().horizontalAdvance(text);
    if (x + wide > width() - lastWidth - 12) break;
    painter.drawText(QRect(i == 0 ? 0 : x - wide / 2, y, wide + 2, kScale_px - kOverhang_px),
                     Qt::AlignLeft, text);
  }
}

void MemoryBar::paintLegend(QPainter& painter) const {
  painter.setFont(themedFont(FontRole::body));
  const int top = barRect().bottom() + 1 + (m_scale ? kScale_px : kOverhang_px) + 4;
  const int column = (width() - (kLegendColumns - 1) * 28) / kLegendColumns;
  int index = 0;
  for (const Piece& piece : pieces()) {
    if (piece.kind == Piece::Kind::left || piece.bytes <= 0) continue;
    const QRect cell((index % kLegendColumns) * (column + 28),
                     top + (index / kLegendColumns) * kLegendRow_px, column, kLegendRow_px);
    ++index;
    const QRect swatch(cell.x(), cell.center().y() - 4, 10, 10);
    if (piece.kind == Piece::Kind::reserve) {
      paintReserve(painter, swatch);
    } else if (piece.kind == Piece::Kind::others) {
      paintOthers(painter, swatch);
    } else {
      paintSwatch(painter, swatch, seriesStyle(piece.series).colour);
    }
    const QString figure = formatBytes(piece.bytes);
    const QFontMetricsF metrics(painter.font(), this);
    const qreal wide = tabularWidth(figure, metrics);
    painter.setPen(theme().muted);
    drawTabular(painter,
                {cell.right() + 1 - wide,
                 cell.top() + (cell.height() - metrics.height()) / 2 + metrics.ascent()},
                figure);
    painter.setPen(theme().text);
    const QRect word = cell.adjusted(18, 0, -static_cast<int>(wide) - 8, 0);
    painter.drawText(word, Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(piece.name, Qt::ElideRight, word.width()));
  }
}

QString MemoryBar::tooltipAt(const QPoint& position) const {
  const QRect bar = barRect();
  if (!bar.contains(position) || m_data.capacity_bytes <= 0) return {};
  for (const Piece& piece : pieces()) {
    const int x = position.x() - bar.x() - piece.x_px;
    if (x < 0 || x >= piece.width_px) continue;
    return tr("%1: %2, %3 of the device")
        .arg(piece.name, formatBytes(piece.bytes),
             formatPercent(static_cast<double>(piece.bytes) / m_data.capacity_bytes));
  }
  return {};
}

bool MemoryBar::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = tooltipAt(help->pos());
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text, this);
  }
  return true;
}

void MemoryBar::updateAccessible() {
  setAccessibleName(tr("Memory of the device"));
  const std::int64_t left = left_bytes();
  setAccessibleDescription(
      tr("%1 planned of %2, %3 %4")
          .arg(formatBytes(planned_bytes()), formatBytes(m_data.capacity_bytes),
               formatBytes(left < 0 ? -left : left), left < 0 ? tr("too much") : tr("left")));
}

}  // namespace athanor
