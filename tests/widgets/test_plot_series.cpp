// SPDX-License-Identifier: GPL-3.0-or-later
// A plot's series: smoothing, resumes, decimation and round numbers.

#include <QApplication>
#include <QFile>
#include <QImage>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <ctime>

#include "tests/widgets/plot_points.h"
#include "widgets/format.h"
#include "widgets/loss_plot.h"
#include "widgets/plot_area.h"
#include "widgets/plot_series.h"
#include "widgets/plot_ticker.h"
#include "widgets/small_plot.h"
#include "widgets/theme.h"

using namespace athanor;

namespace {

/// The debiased average as its paper writes it, with the sum kept apart.
QVector<double> referenceSmoothing(const QVector<PlotPoint>& points, double weight) {
  QVector<double> out;
  double sum = 0;
  double decay = 1;
  for (const PlotPoint& point : points) {
    sum = weight * sum + (1 - weight) * point.value;
    decay *= weight;
    out << sum / (1 - decay);
  }
  return out;
}

}  // namespace

class TestPlotSeries : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { applyTheme(*qApp, Appearance::dark); }

  void constantSmoothsToItself_data() {
    QTest::addColumn<double>("value");
    QTest::addColumn<double>("weight");
    for (const double weight : {0.0, 0.5, 0.92, 0.999}) {
      for (const double value : {0.1, 2.718281828, 1e-9, 12345.678}) {
        QTest::newRow(qPrintable(QString("%1 at %2").arg(value).arg(weight))) << value << weight;
      }
    }
  }

  void constantSmoothsToItself() {
    QFETCH(double, value);
    QFETCH(double, weight);
    PlotSeries series;
    series.setSmoothing(weight);
    series.assign(rising(5000, value));
    for (const double smooth : series.smoothed())
      QVERIFY(smooth == value);
    // Also where a pixel column stands for many points.
    const PlotWindow window{PlotAxis::step, 0, 5000, 100, false};
    const PlotLine line = reduced(series.smooth(), window, Reduction::mean);
    QVERIFY(line.y.size() >= 100 && line.y.size() < 200);
    for (const double y : line.y)
      QVERIFY(y == value);
  }

  void smoothingIsTheDebiasedAverage() {
    const QVector<PlotPoint> points = noisy(400);
    PlotSeries series;
    series.setSmoothing(0.9);
    series.assign(points);
    const QVector<double> expected = referenceSmoothing(points, 0.9);
    for (int i = 0; i < points.size(); ++i) {
      QVERIFY(std::fabs(series.smoothed()[i] - expected[i]) < 1e-12);
    }
  }

  void appendingEqualsAssigning() {
    const QVector<PlotPoint> points = noisy(1000);
    PlotSeries whole;
    whole.assign(points);
    PlotSeries parts;
    for (int i = 0; i < points.size(); i += 37)
      parts.append(points.mid(i, 37));
    QCOMPARE(parts.smoothed(), whole.smoothed());
  }

  void resumeKeepsTheTail() {
    PlotSeries series;
    series.assign(rising(100, 3));
    series.append({at(61, 2), at(62, 2)});
    QCOMPARE(series.points().size(), 62);
    QCOMPARE(series.points().back().step, 62.0);
    QCOMPARE(series.abandoned().size(), 1);
    QCOMPARE(series.abandoned()[0].size(), 40);
    QCOMPARE(series.abandoned()[0][0].step, 61.0);
    QCOMPARE(series.smoothed().size(), series.points().size());
    QCOMPARE(series.smoothed()[59], 3.0);
  }

  void decimationKeepsSpikes() {
    QVector<PlotPoint> points = rising(100'000, 1);
    points[54'321].value = 9;
    const PlotWindow window{PlotAxis::step, 0, 100'000, 300, false};
    PlotSeries series;
    series.assign(points);
    const PlotLine line = reduced(series.raw(), window, Reduction::extremes);
    QVERIFY(line.y.size() <= 2 * 300 + 8);
    QCOMPARE(*std::max_element(line.y.begin(), line.y.end()), 9.0);
    QCOMPARE(line.x.front(), 1.0);
    // The last column ends within a pixel of the last point.
    QVERIFY(line.x.back() >= 100'000 - 100'000.0 / 300);
    QVERIFY(std::is_sorted(line.x.begin(), line.x.end()));
  }

  void blocksChangeNothingBetweenTheExtremes() {
    const QVector<PlotPoint> points = noisy(100'000);
    PlotSeries series;
    series.assign(points);
    const PlotWindow window{PlotAxis::step, 1000, 90'000, 300, false};
    const ValueRange exact = valueRange({points}, window, false);
    const ValueRange quick = valueRange(series.raw(), window, false);
    QCOMPARE(quick.low, exact.low);
    QCOMPARE(quick.high, exact.high);
    const PlotLine all = reduced({points}, window, Reduction::extremes);
    const PlotLine blocks = reduced(series.raw(), window, Reduction::extremes);
    QCOMPARE(*std::min_element(blocks.y.begin(), blocks.y.end()),
             *std::min_element(all.y.begin(), all.y.end()));
    QCOMPARE(*std::max_element(blocks.y.begin(), blocks.y.end()),
             *std::max_element(all.y.begin(), all.y.end()));
  }

  void nextNice_data() {
    QTest::addColumn<double>("value");
    QTest::addColumn<double>("expected");
    QTest::newRow("7") << 7.0 << 10.0;
    QTest::newRow("10") << 10.0 << 10.0;
    QTest::newRow("11") << 11.0 << 20.0;
    QTest::newRow("41216") << 41216.0 << 50000.0;
    QTest::newRow("0.03") << 0.03 << 0.05;
    QTest::newRow("none") << 0.0 << 1.0;
  }

  void nextNice() {
    QFETCH(double, value);
    QFETCH(double, expected);
    QVERIFY(qFuzzyCompare(athanor::nextNice(value), expected));
  }
};

QTEST_MAIN(TestPlotSeries)
#include "test_plot_series.moc"
