// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_export.h"

#include <QCoreApplication>
#include <QImage>
#include <QLocale>
#include <QSaveFile>

namespace athanor {
namespace {

QString refusal(const QSaveFile& file) {
  return QCoreApplication::translate("athanor::LossPlot",
                                     "Could not write %1: %2. Choose another place.")
      .arg(file.fileName(), file.errorString());
}

QByteArray number(double value) {
  return QByteArray::number(value, 'g', QLocale::FloatingPointShortest);
}

QByteArray quoted(QString text) {
  text.replace('"', "\"\"");
  return '"' + text.toUtf8() + '"';
}

void writeRow(QSaveFile& file, const QByteArray& series, const PlotPoint& point,
              const QByteArray& smoothed) {
  file.write(series + ',' + number(point.step) + ',' + number(point.tokens) + ',' +
             number(point.seconds) + ',' + number(point.value) + ',' + smoothed + '\n');
}

}  // namespace

QString writePlotCsv(const QString& path, const PlotContent& content) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return refusal(file);
  file.write("series,step,tokens,seconds,value,smoothed\n");
  for (const QVector<PlotPoint>& tail : content.train.abandoned()) {
    for (const PlotPoint& point : tail)
      writeRow(file, "abandoned", point, {});
  }
  const QVector<PlotPoint>& points = content.train.points();
  for (qsizetype i = 0; i < points.size(); ++i) {
    writeRow(file, "train", points[i], number(content.train.smoothed()[i]));
  }
  for (const PlotPoint& point : content.validation)
    writeRow(file, "validation", point, {});
  for (const PlotCurve& curve : content.curves) {
    for (const PlotPoint& point : curve.points)
      writeRow(file, quoted(curve.name), point, {});
  }
  return file.commit() ? QString() : refusal(file);
}

QString writePlotImage(const QString& path, const QImage& image) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly)) return refusal(file);
  if (!image.save(&file, "PNG")) file.cancelWriting();
  return file.commit() ? QString() : refusal(file);
}

}  // namespace athanor
