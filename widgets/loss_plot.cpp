// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/loss_plot.h"

#include <QImage>
#include <QPainter>
#include <QPixmap>
#include <algorithm>

#include "widgets/loss_plot_private.h"
#include "widgets/plot_export.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr double kExportScale = 2;

}  // namespace

LossPlot::LossPlot(const QString& title, QWidget* parent)
    : QWidget(parent), d(std::make_unique<Private>(this, title)) {
  setAccessibleName(d->legend->heading());
  setFocusProxy(d->area);
  d->followData();
}

LossPlot::~LossPlot() = default;

void LossPlot::setTitle(const QString& title) {
  d->legend->setTitle(title);
  d->describe();
}

void LossPlot::setNote(const QString& note) {
  d->legend->setNote(note);
}

void LossPlot::setEmptyText(const QString& text) {
  d->emptyText = text;
  d->refresh();
}

void LossPlot::setSeries(const QVector<PlotPoint>& points) {
  d->train.assign(points);
  d->followData();
  d->refresh();
}

void LossPlot::append(const QVector<PlotPoint>& points) {
  if (points.isEmpty()) return;
  d->train.append(points);
  d->followData();
  d->refresh();
}

void LossPlot::setValidation(const QVector<PlotPoint>& points) {
  d->validation = points;
  d->followData();
  d->refresh();
}

void LossPlot::appendValidation(const QVector<PlotPoint>& points) {
  if (points.isEmpty()) return;
  // After a resume the evaluations from there on are done again.
  const double step = points.front().step;
  while (!d->validation.isEmpty() && d->validation.back().step >= step)
    d->validation.removeLast();
  setValidation(d->validation + points);
}

void LossPlot::setCheckpoints(const QVector<PlotPoint>& checkpoints) {
  d->checkpoints = checkpoints;
  d->refresh();
}

void LossPlot::setResumes(const QVector<PlotMark>& resumes) {
  d->resumes = resumes;
  d->refresh();
}

void LossPlot::setCurves(const QVector<PlotCurve>& curves) {
  d->setCurves(curves);
  d->followData();
  d->refresh();
}

void LossPlot::setForecast(const std::optional<Forecast>& forecast) {
  d->forecast = forecast;
  d->followData();
  d->refresh();
}

void LossPlot::clear() {
  d->train.clear();
  d->validation.clear();
  d->checkpoints.clear();
  d->resumes.clear();
  d->setCurves({});
  d->forecast.reset();
  d->setFollowing(true);
}

void LossPlot::setAxis(PlotAxis axis) {
  d->setAxis(axis);
}

void LossPlot::setLogY(bool log) {
  d->area->setLogY(log);
  d->refresh();
}

void LossPlot::setClipOutliers(bool clip) {
  d->clip = clip;
  d->refresh();
}

void LossPlot::setSmoothing(double weight) {
  d->train.setSmoothing(weight);
  d->refresh();
}

void LossPlot::setFollowing(bool following) {
  d->setFollowing(following);
}

void LossPlot::setComplete(bool complete) {
  if (d->complete == complete) return;
  d->complete = complete;
  d->followData();
  d->refresh();
}

PlotAxis LossPlot::axis() const {
  return d->area->axis();
}

bool LossPlot::isFollowing() const {
  return d->following;
}

double LossPlot::xMinimum() const {
  return d->area->xAxis->range().lower;
}

double LossPlot::xMaximum() const {
  return d->area->xAxis->range().upper;
}

void LossPlot::setXRange(double minimum, double maximum) {
  if (!(maximum > minimum)) return;
  d->setRange(minimum, maximum);
  d->setFollowing(false);
}

void LossPlot::setCrosshair(std::optional<double> x) {
  d->showCrosshair(x);
  emit crosshairMoved(x);
}

QString LossPlot::warning() const {
  return d->warning;
}

QString LossPlot::exportCsv(const QString& path) const {
  return writePlotCsv(path, {d->train, d->validation, d->curves});
}

QString LossPlot::exportPng(const QString& path) const {
  QImage image(size() * kExportScale, QImage::Format_RGB32);
  image.setDevicePixelRatio(kExportScale);
  image.fill(theme().surface);
  QPainter painter(&image);
  d->legend->render(&painter, d->legend->pos(), QRegion(), QWidget::DrawChildren);
  const QPixmap plot = d->area->toPixmap(d->area->width(), d->area->height(), kExportScale);
  painter.drawPixmap(QRect(d->area->pos(), d->area->size()), plot, plot.rect());
  painter.end();
  return writePlotImage(path, image);
}

QSize LossPlot::sizeHint() const {
  return {640, 300};
}

QSize LossPlot::minimumSizeHint() const {
  return {240, 140};
}

}  // namespace athanor
