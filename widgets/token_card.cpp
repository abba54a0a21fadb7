// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/token_card.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/format.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kWidth_px = 288;
constexpr int kPad_px = 14;
constexpr int kRow_px = 20;
constexpr int kBarLeft_px = 104;
constexpr int kFigure_px = 56;
constexpr int kRadius_px = 4;
constexpr double kSmallest = 1e-9;

}  // namespace

TokenCard::TokenCard(QWidget* parent) : QWidget(parent, Qt::ToolTip) {
  setAttribute(Qt::WA_ShowWithoutActivating);
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setAttribute(Qt::WA_TranslucentBackground);
  setFocusPolicy(Qt::NoFocus);
}

void TokenCard::setToken(const TextToken& token) {
  m_title = tr("token %1").arg(token.id);
  m_loss = tr("loss %1").arg(-std::log(std::max(token.probability, kSmallest)), 0, 'f', 2);
  m_rows.clear();
  double told = 0;
  bool among = false;
  for (const TextToken::Other& other : token.best) {
    const bool drawn = !among && other.text == token.text;
    among = among || drawn;
    told += other.probability;
    m_rows.push_back({visibleToken(other.text), other.probability, drawn});
  }
  if (!among) {
    told += token.probability;
    m_rows.push_back({visibleToken(token.text), token.probability, true});
  }
  m_rest = tr("%1 on all others").arg(formatPercent(std::max(0.0, 1 - told)));
  QStringList words{visibleToken(token.text), m_title, m_loss};
  for (const Row& row : m_rows)
    words << row.text + ' ' + formatPercent(row.probability);
  setAccessibleName(words.join(", "));
  resize(sizeHint());
  update();
}

QSize TokenCard::sizeHint() const {
  const int rows = static_cast<int>(m_rows.size()) + 2;
  return {kWidth_px, rows * kRow_px + 2 * kPad_px - 8};
}

void TokenCard::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(theme().edge);
  painter.setBrush(theme().surface);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kRadius_px, kRadius_px);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const int right = width() - kPad_px;
  const auto line = [&](int row) {
    return QRect(kPad_px, kPad_px - 4 + row * kRow_px, right - kPad_px, kRow_px);
  };
  painter.setFont(themedFont(FontRole::note));
  painter.setPen(theme().muted);
  painter.drawText(line(0), Qt::AlignLeft | Qt::AlignVCenter, m_title);
  painter.drawText(line(0), Qt::AlignRight | Qt::AlignVCenter, m_loss);
  const int room = right - kFigure_px - kBarLeft_px;
  for (int i = 0; i < m_rows.size(); ++i) {
    const Row& row = m_rows[i];
    const QRect place = line(i + 1);
    painter.setFont(themedFont(row.drawn ? FontRole::emphasis : FontRole::body));
    painter.setPen(theme().text);
    const QString name =
        painter.fontMetrics().elidedText(row.text, Qt::ElideRight, kBarLeft_px - kPad_px - 8);
    painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, name);
    painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter, formatPercent(row.probability));
    const int wide = std::max(1, static_cast<int>(std::lround(row.probability * room)));
    painter.fillRect(QRect(kBarLeft_px, place.center().y() - 4, wide, 8),
                     row.drawn ? theme().accent : theme().muted);
  }
  const QRect last = line(static_cast<int>(m_rows.size()) + 1);
  painter.setPen(theme().grid);
  painter.drawLine(last.topLeft(), last.topRight());
  painter.setFont(themedFont(FontRole::note));
  painter.setPen(theme().muted);
  painter.drawText(last, Qt::AlignLeft | Qt::AlignVCenter, m_rest);
}

}  // namespace athanor
