// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/small_plot.h"

#include <QPointer>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "widgets/loss_plot.h"
#include "widgets/plot_area.h"
#include "widgets/plot_legend.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr double kFill = 0.22;
constexpr double kLeastSpan = 0.15;
constexpr double kPeakRoom = 0.3;

}  // namespace

class SmallPlot::Private {
 public:
  Private(SmallPlot* plot, const QString& title, int series, std::function<QString(double)> format)
      : q(plot),
        legend(new PlotLegend(title, plot)),
        area(new PlotArea(plot)),
        curve(area->addCurve()),
        number(series),
        write(std::move(format)) {
    auto* layout = new QVBoxLayout(plot);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(legend);
    layout->addWidget(area, 1);
    area->setAccessibleName(legend->heading());
    area->setLabelRoom(true, 20);
    area->setTickCountY(3);
    data.setSmoothing(0);
    connect(area, &PlotArea::resized, q, [this] { refresh(); });
    connect(area, &PlotArea::themeApplied, q, [this] { refresh(); });
    connect(area, &PlotArea::xRangeChosen, q, [this](double low, double high) {
      if (link == nullptr) showRange(low, high);
      emit q->xRangeChanged(low, high);
    });
    connect(area, &PlotArea::followChosen, q, [this] {
      if (link != nullptr) link->setFollowing(true);
    });
    connect(area, &PlotArea::crosshairMoved, q, [this](std::optional<double> x) {
      if (link == nullptr) showCrosshair(x);
      emit q->crosshairMoved(x);
    });
  }

  void setAxis(PlotAxis axis) {
    area->setAxis(axis);
    legend->setAxis(axis);
    q->setAccessibleName(legend->heading());
    area->setAccessibleName(legend->heading());
  }

  void changed() {
    if (link == nullptr && !data.points().isEmpty()) {
      area->setXRange(0, xOf(data.points().back(), area->axis()));
    }
    refresh();
  }

  void showRange(double low, double high) {
    area->setXRange(low, high);
    refresh();
  }

  void refresh() {
    const QColor colour = seriesStyle(number).colour;
    curve->setPen(QPen(colour, 1.4, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    QColor fill = colour;
    fill.setAlphaF(kFill);
    curve->setBrush(filled ? QBrush(fill) : QBrush(Qt::NoBrush));
    const PlotWindow window = area->window();
    area->setTickLabelsShown(!data.points().isEmpty());
    area->setYRange(shownRange(window));
    const PlotLine line = reduced(data.raw(), window, Reduction::extremes);
    curve->setData(line.x, line.y, true);
    PlotMarkings markings;
    for (const PlotMark& resume : resumes) {
      markings.resumes << PlotMarkings::Resume{xOf(resume.at, window.axis), {}};
    }
    if (!peakLabel.isEmpty()) {
      markings.peak = PlotMarkings::Peak{{xOf(peak, window.axis), peak.value}, peakLabel};
    }
    area->setMarkings(markings);
    refreshValue();
    area->replotSoon();
  }

  /// Not so close that the noise of a steady value fills the plot.
  ValueRange shownRange(const PlotWindow& window) const {
    ValueRange range = valueRange(data.raw(), window, false);
    // Room for the words above it.
    if (!peakLabel.isEmpty() && !range.empty) range.high += kPeakRoom * (range.high - range.low);
    const double size = std::max(std::fabs(range.low), std::fabs(range.high));
    const double missing = kLeastSpan * size - (range.high - range.low);
    if (range.empty || missing <= 0) return range;
    range.high += missing / 2;
    range.low -= missing / 2;
    return range;
  }

  /// The value under the crosshair, else the one now.
  void refreshValue() {
    QString text = note;
    const std::optional<double> x = area->crosshair()->x();
    if (x.has_value() && !data.points().isEmpty()) {
      text = write(data.points()[nearestPoint(data.points(), area->axis(), *x)].value);
    } else if (text.isEmpty() && !data.points().isEmpty()) {
      text = write(data.points().back().value);
    }
    legend->setNote(text);
    area->setAccessibleDescription(peakLabel.isEmpty() ? text : peakLabel);
  }

  void showCrosshair(std::optional<double> x) {
    if (!x.has_value() && !area->crosshair()->x().has_value()) return;
    area->crosshair()->setX(x);
    refreshValue();
    area->replotCrosshair();
  }

  SmallPlot* q;
  PlotLegend* legend;
  PlotArea* area;
  QCPGraph* curve;
  int number;
  std::function<QString(double)> write;
  PlotSeries data;
  QVector<PlotMark> resumes;
  QPointer<LossPlot> link;
  PlotPoint peak;
  QString peakLabel;
  QString note;
  bool filled = false;
};

SmallPlot::SmallPlot(const QString& title, int series, std::function<QString(double)> format,
                     QWidget* parent)
    : QWidget(parent), d(std::make_unique<Private>(this, title, series, std::move(format))) {
  setAccessibleName(d->legend->heading());
  setFocusProxy(d->area);
  d->area->setXRange(0, 100);
}

SmallPlot::~SmallPlot() = default;

void SmallPlot::setSeries(const QVector<PlotPoint>& points) {
  d->data.assign(points);
  d->changed();
}

void SmallPlot::append(const QVector<PlotPoint>& points) {
  if (points.isEmpty()) return;
  d->data.append(points);
  d->changed();
}

void SmallPlot::setResumes(const QVector<PlotMark>& resumes) {
  d->resumes = resumes;
  d->refresh();
}

void SmallPlot::setPeak(const PlotPoint& at, const QString& label) {
  d->peak = at;
  d->peakLabel = label;
  d->refresh();
}

void SmallPlot::setHeadingVisible(bool visible) {
  d->legend->setVisible(visible);
}

void SmallPlot::clear() {
  d->data.clear();
  d->peakLabel.clear();
  d->resumes.clear();
  d->refresh();
}

void SmallPlot::linkTo(LossPlot* plot) {
  d->link = plot;
  connect(plot, &LossPlot::xRangeChanged, this,
          [this](double low, double high) { d->showRange(low, high); });
  connect(plot, &LossPlot::axisChanged, this, [this](PlotAxis axis) { d->setAxis(axis); });
  connect(plot, &LossPlot::crosshairMoved, this,
          [this](std::optional<double> x) { d->showCrosshair(x); });
  connect(this, &SmallPlot::xRangeChanged, plot, &LossPlot::setXRange);
  connect(this, &SmallPlot::crosshairMoved, plot, &LossPlot::setCrosshair);
  d->area->setLabelRoom(false, 4);  // the loss plot's labels hold for both
  d->setAxis(plot->axis());
  d->showRange(plot->xMinimum(), plot->xMaximum());
}

void SmallPlot::setFilled(bool filled) {
  d->filled = filled;
  d->refresh();
}

void SmallPlot::setXName(const QString& name) {
  d->legend->setXName(name);
  setAccessibleName(d->legend->heading());
}

void SmallPlot::setNote(const QString& note) {
  d->note = note;
  d->refreshValue();
}

QSize SmallPlot::sizeHint() const {
  return {240, 100};
}

QSize SmallPlot::minimumSizeHint() const {
  return {140, 80};
}

}  // namespace athanor
