// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/histogram.h"

#include <qcustomplot.h>

#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "widgets/format.h"
#include "widgets/plot_ticker.h"
#include "widgets/theme.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr double kBarWidth = 0.86;
constexpr int kMostXLabels = 9;

/// "512", "2 k", "1 M"
QString powerText(int exponent) {
  if (exponent < 10) return QString::number(1 << exponent);
  if (exponent < 20) return QString("%1 k").arg(1 << (exponent - 10));
  return QString("%1 M").arg(qint64{1} << (exponent - 20));
}

class CountTicker : public QCPAxisTicker {
 protected:
  int getSubTickCount(double) override { return 0; }
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    return tick == std::floor(tick) ? formatCount(tick) : QString();
  }
};

}  // namespace

class Histogram::Private {
 public:
  Private(Histogram* histogram, const QString& xName, const QString& yName)
      : q(histogram),
        plot(new QCustomPlot(histogram)),
        bars(new QCPBars(plot->xAxis, plot->yAxis)),
        line(new QCPItemStraightLine(plot)),
        words(new QCPItemText(plot)),
        powers(new QCPAxisTickerText) {
    auto* layout = new QVBoxLayout(q);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(plot);
    plot->xAxis->setLabel(xName);
    plot->yAxis->setLabel(yName);
    plot->xAxis->setTicker(powers);
    plot->yAxis->setTicker(QSharedPointer<CountTicker>(new CountTicker));
    plot->xAxis->grid()->setVisible(false);
    bars->setWidth(kBarWidth);
    words->setPositionAlignment(Qt::AlignTop | Qt::AlignLeft);
    words->position->setTypeX(QCPItemPosition::ptPlotCoords);
    words->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
    words->setPadding(QMargins(4, 0, 0, 0));
    connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, q, [this] { refresh(); });
    refresh();
  }

  void styleAxis(QCPAxis* axis) const {
    axis->setTickLabelFont(themedFont(FontRole::axis));
    axis->setLabelFont(themedFont(FontRole::axis));
    axis->setTickLabelColor(theme().muted);
    axis->setLabelColor(theme().muted);
    axis->setBasePen(QPen(theme().border, 0));
    axis->setTickPen(QPen(theme().border, 0));
    axis->setSubTickPen(Qt::NoPen);
    axis->grid()->setPen(QPen(theme().grid, 0));
    axis->grid()->setZeroLinePen(QPen(theme().border, 0));
  }

  void refresh() {
    plot->setBackground(theme().surface);
    styleAxis(plot->xAxis);
    styleAxis(plot->yAxis);
    plot->yAxis->setBasePen(Qt::NoPen);
    bars->setPen(Qt::NoPen);
    bars->setBrush(seriesStyle(2).colour);
    QVector<double> x;
    QVector<double> y;
    for (int bin = 0; bin < counts.size(); ++bin) {
      // A bar stands between its bounds.
      x << bin + 0.5;
      y << static_cast<double>(counts[bin]);
    }
    bars->setData(x, y, true);
    const int bins = std::max<int>(1, static_cast<int>(counts.size()));
    const int step = 1 + (bins - 1) / kMostXLabels;
    powers->clear();
    for (int bin = 0; bin <= bins; bin += step)
      powers->addTick(bin, powerText(bin));
    const double highest = y.isEmpty() ? 1 : *std::max_element(y.begin(), y.end());
    plot->xAxis->setRange(0, bins);
    plot->yAxis->setRange(0, nextNice(std::max(1.0, highest * 1.08)));
    plot->xAxis->setTickLabels(!counts.isEmpty());
    plot->yAxis->setTickLabels(!counts.isEmpty());
    placeMark(bins);
    plot->replot(QCustomPlot::rpQueuedReplot);
  }

  void placeMark(int bins) {
    const double at = mark > 0 ? std::log2(static_cast<double>(mark)) : -1;
    const bool shown = at >= 0 && !counts.isEmpty();
    line->setVisible(shown);
    words->setVisible(shown);
    if (!shown) return;
    if (at > bins) plot->xAxis->setRange(0, std::ceil(at) + 1);
    line->point1->setCoords(at, 0);
    line->point2->setCoords(at, 1);
    line->setPen(QPen(theme().text, 1, Qt::DashLine));
    words->setText(label);
    words->setFont(themedFont(FontRole::axis));
    words->setColor(theme().text);
    const bool late = at > 0.7 * plot->xAxis->range().upper;
    words->setPositionAlignment(Qt::AlignTop | (late ? Qt::AlignRight : Qt::AlignLeft));
    words->setPadding(late ? QMargins(0, 0, 4, 0) : QMargins(4, 0, 0, 0));
    words->position->setCoords(at, 0);
  }

  Histogram* q;
  QCustomPlot* plot;
  QCPBars* bars;
  QCPItemStraightLine* line;
  QCPItemText* words;
  QSharedPointer<QCPAxisTickerText> powers;
  QVector<std::int64_t> counts;
  std::int64_t mark = 0;
  QString label;
};

Histogram::Histogram(const QString& xName, const QString& yName, QWidget* parent)
    : QWidget(parent), d(std::make_unique<Private>(this, xName, yName)) {
  setAccessibleName(tr("%1 by %2").arg(yName, xName));
}

Histogram::~Histogram() = default;

void Histogram::setCounts(const QVector<std::int64_t>& counts) {
  d->counts = counts;
  d->refresh();
}

void Histogram::setMark(std::int64_t length, const QString& label) {
  d->mark = length;
  d->label = label;
  d->refresh();
}

QSize Histogram::sizeHint() const {
  return {340, 220};
}

QSize Histogram::minimumSizeHint() const {
  return {200, 140};
}

}  // namespace athanor
