// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/show_panel.h"

#include <QPainter>
#include <array>

#include "widgets/segmented.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

/// The tints from sure to surprised, with the probabilities between them.
class Legend : public QWidget {
 public:
  Legend() {
    setFixedHeight(30);
    setAccessibleName(ShowPanel::tr("White is at least 60 %, the darkest under 10 %"));
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setFont(themedFont(FontRole::axis));
    painter.setPen(theme().muted);
    const QString sure = ShowPanel::tr("sure");
    const QString surprised = ShowPanel::tr("surprised");
    const QFontMetrics metrics = painter.fontMetrics();
    const int left = metrics.horizontalAdvance(sure) + 8;
    const int right = width() - metrics.horizontalAdvance(surprised) - 8;
    painter.drawText(QRect(0, 0, left, 12), Qt::AlignLeft | Qt::AlignVCenter, sure);
    painter.drawText(QRect(right, 0, width() - right, 12), Qt::AlignRight | Qt::AlignVCenter,
                     surprised);
    constexpr std::array kSamples = {0.8, 0.4, 0.2, 0.05};
    constexpr std::array kLimits = {60, 30, 10};
    const int part = (right - left) / static_cast<int>(kSamples.size());
    for (std::size_t i = 0; i < kSamples.size(); ++i) {
      const QRect place(left + static_cast<int>(i) * part, 0, part, 12);
      painter.fillRect(place, mixed(theme().accent, theme().surface, tokenTint(kSamples[i])));
      if (i == 0) continue;
      painter.drawText(QRect(place.left() - part, 13, 2 * part, 16), Qt::AlignCenter,
                       QString("%1 %").arg(kLimits[i - 1]));
    }
    painter.setPen(theme().border);
    painter.drawRect(QRect(left, 0, part * static_cast<int>(kSamples.size()), 12));
  }
};

}  // namespace

ShowPanel::ShowPanel(QWidget* parent)
    : Card(tr("Show"), parent),
      m_style(new Segmented(tr("Shown of answers"), {tr("Text"), tr("Unsure"), tr("Tokens")})),
      m_legend(new Legend) {
  m_style->setObjectName("tokenStyle");
  content()->addWidget(m_style);
  content()->addWidget(m_legend);
  m_style->setToolTip(
      tr("Point at a word to see how probable it was, and what else could have come"));
  m_legend->hide();
  connect(m_style, &Segmented::currentChanged, this, [this] {
    m_legend->setVisible(style() == TokenStyle::probabilities);
    emit styleChanged(style());
  });
}

TokenStyle ShowPanel::style() const {
  return static_cast<TokenStyle>(m_style->current());
}

}  // namespace athanor
