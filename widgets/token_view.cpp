// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/token_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "widgets/format.h"
#include "widgets/theme.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr int kLine_px = 24;
constexpr int kCell_px = 20;
constexpr int kPadding_px = 2;
constexpr int kGap_px = 1;
constexpr int kNumber_px = 28;
constexpr int kRowGap_px = 8;
constexpr int kBar_px = 3;
constexpr int kUsualWidth_px = 480;
constexpr double kTint = 0.2;
/// Series whose tints are told apart in both themes.
constexpr std::array kSeries = {2, 1, 3, 4};

QColor tintOf(int token) {
  const Series& style = seriesStyle(kSeries[static_cast<std::size_t>(token) % kSeries.size()]);
  return mixed(style.colour, theme().surface, kTint);
}

}  // namespace

QString visibleText(const QString& text) {
  QString shown = text;
  shown.replace(QStringLiteral("\r"), QString(QChar(0x240D)));
  shown.replace(QStringLiteral("\n"), QString(QChar(0x21B5)));
  shown.replace(QStringLiteral("\t"), QString(QChar(0x21E5)));
  if (shown.trimmed().isEmpty()) shown.replace(QChar(' '), QChar(0x00B7));
  return shown;
}

TokenView::TokenView(QWidget* parent) : QWidget(parent) {
  setFont(themedFont(FontRole::body));
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, [this] { update(); });
}

void TokenView::setRows(const QVector<QVector<ViewedToken>>& rows) {
  m_rows = rows;
  setMinimumHeight(lay(width(), &m_cells));
  updateGeometry();
  update();
}

int TokenView::lay(int width, QVector<Cell>* cells) const {
  if (cells != nullptr) cells->clear();
  const QFontMetrics metrics = fontMetrics();
  const int right = std::max(width, kNumber_px + kLine_px);
  int y = 0;
  for (int row = 0; row < m_rows.size(); ++row) {
    int x = kNumber_px;
    for (int token = 0; token < m_rows[row].size(); ++token) {
      const ViewedToken& each = m_rows[row][token];
      const int bar = each.begins ? kBar_px + kGap_px : 0;
      const int text = metrics.horizontalAdvance(visibleText(each.text)) + 2 * kPadding_px;
      const int wide = std::min(bar + text, right - kNumber_px);
      if (x > kNumber_px && x + wide > right) {
        x = kNumber_px;
        y += kLine_px;
      }
      if (cells != nullptr) cells->push_back({QRect(x, y, wide, kCell_px), row, token});
      x += wide + kGap_px;
    }
    y += kLine_px + kRowGap_px;
  }
  return std::max(0, y - kRowGap_px);
}

int TokenView::heightForWidth(int width) const {
  return lay(width, nullptr);
}

QSize TokenView::sizeHint() const {
  return {kUsualWidth_px, lay(kUsualWidth_px, nullptr)};
}

QSize TokenView::minimumSizeHint() const {
  return {kUsualWidth_px / 2, kLine_px};
}

void TokenView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  setMinimumHeight(lay(width(), &m_cells));
}

bool TokenView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto cell = std::ranges::find_if(
      m_cells, [help](const Cell& each) { return each.place.contains(help->pos()); });
  if (cell == m_cells.end()) {
    QToolTip::hideText();
    return true;
  }
  const ViewedToken& token = m_rows[cell->row][cell->token];
  QToolTip::showText(help->globalPos(),
                     tr("\"%1\", token %2, %3")
                         .arg(visibleText(token.text), formatThousands(token.id),
                              token.trained ? tr("to be predicted") : tr("masked: not trained")),
                     this, cell->place);
  return true;
}

void TokenView::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setFont(font());
  int row = -1;
  for (const Cell& cell : m_cells) {
    if (cell.row != row) {
      row = cell.row;
      painter.setPen(theme().muted);
      painter.drawText(QRect(0, cell.place.y(), kNumber_px - 8, kCell_px),
                       Qt::AlignRight | Qt::AlignVCenter, QString::number(row + 1));
    }
    if (cell.place.bottom() < event->rect().top()) continue;
    if (cell.place.top() > event->rect().bottom()) break;
    paintCell(painter, cell);
  }
}

void TokenView::paintCell(QPainter& painter, const Cell& cell) const {
  const ViewedToken& token = m_rows[cell.row][cell.token];
  QRect place = cell.place;
  if (token.begins) {
    painter.fillRect(QRect(place.left(), place.top() - 2, kBar_px, place.height() + 4),
                     theme().accent);
    place.setLeft(place.left() + kBar_px + kGap_px);
  }
  if (token.trained) painter.fillRect(place, tintOf(cell.token));
  painter.setPen(token.trained ? theme().text : theme().muted);
  const QRect text = place.adjusted(kPadding_px, 0, 0, 0);
  painter.drawText(text, Qt::AlignVCenter | Qt::TextSingleLine, visibleText(token.text));
  if (token.trained) return;
  const int middle = place.center().y();
  painter.drawLine(place.left() + 1, middle, place.right() - 1, middle);
}

}  // namespace athanor
