// SPDX-License-Identifier: GPL-3.0-or-later
// The plots: smoothing, gaps, resumes, decimation, ranges, export, and the time of a million
// points.

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

PlotArea* areaOf(const QWidget& plot) {
  return plot.findChild<PlotArea*>();
}

}  // namespace

class TestPlots : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { applyTheme(*qApp, Appearance::dark); }

  void notFiniteIsAGap_data() {
    QTest::addColumn<double>("bad");
    QTest::addColumn<int>("count");
    QTest::newRow("nan") << kNaN << 100;
    QTest::newRow("infinity") << kInfinity << 100;
    QTest::newRow("minus infinity") << -kInfinity << 100;
    QTest::newRow("nan among many") << kNaN << 100'000;
  }

  void notFiniteIsAGap() {
    QFETCH(double, bad);
    QFETCH(int, count);
    QVector<PlotPoint> points = rising(count, 2);
    points[count / 2].value = bad;
    PlotSeries series;
    series.assign(points);
    QCOMPARE(series.gaps(), QVector<qsizetype>{count / 2});
    QVERIFY(std::isnan(series.smoothed()[count / 2]));
    QCOMPARE(series.smoothed().back(), 2.0);
    const PlotWindow window{PlotAxis::step, 0, double(count), 200, false};
    const PlotLine line = reduced(series.raw(), window, Reduction::extremes);
    QCOMPARE(std::count_if(line.y.begin(), line.y.end(), [](double y) { return std::isnan(y); }),
             1);
  }

  void logAxisLeavesOutWhatItCannotShow() {
    LossPlot plot("Loss");
    plot.resize(600, 300);
    plot.show();
    QVector<PlotPoint> points = rising(100, 3);
    points[10].value = 0;
    points[20].value = -4;
    points[30].value = kNaN;
    QSignalSpy warned(&plot, &LossPlot::warningChanged);
    plot.setSeries(points);
    QCOMPARE(plot.warning(), QString("1 value is not finite"));
    plot.setLogY(true);
    QVERIFY2(plot.warning().contains("2 values of 0 or less"), qPrintable(plot.warning()));
    QVERIFY(warned.count() >= 2);
    QVERIFY(areaOf(plot)->yAxis->range().lower > 0);
    QVERIFY(!plot.grab().isNull());
    plot.setLogY(false);
    QVERIFY(areaOf(plot)->yAxis->range().lower <= -4);
  }

  void onlyNonPositiveOnLogDoesNotHang() {
    LossPlot plot("Loss");
    plot.setLogY(true);
    plot.setSeries(rising(50, -1));
    plot.resize(400, 200);
    plot.show();
    QVERIFY(!plot.grab().isNull());
  }

  void clippingLeavesSingleOutliersOut() {
    QVector<PlotPoint> points = noisy(1000);
    points[500].value = 1e6;
    const PlotWindow window{PlotAxis::step, 0, 1000, 300, false};
    QCOMPARE(valueRange({points}, window, false).high, 1e6);
    QVERIFY(valueRange({points}, window, true).high < 20);
  }

  void followingGrowsInRoundSteps() {
    LossPlot plot("Loss");
    QSignalSpy ranges(&plot, &LossPlot::xRangeChanged);
    plot.append(rising(90, 2));
    QCOMPARE(plot.xMaximum(), 100.0);
    plot.append({at(95, 2)});
    QCOMPARE(plot.xMaximum(), 100.0);
    plot.append({at(101, 2)});
    QCOMPARE(plot.xMaximum(), 200.0);
    QCOMPARE(ranges.back()[1].toDouble(), 200.0);
    plot.setXRange(20, 60);
    QVERIFY(!plot.isFollowing());
    plot.append({at(500, 2)});
    QCOMPARE(plot.xMaximum(), 60.0);
    plot.setFollowing(true);
    QCOMPARE(plot.xMinimum(), 0.0);
    QCOMPARE(plot.xMaximum(), 500.0);
  }

  void completeEndsAfterTheLastPoint() {
    LossPlot plot("Loss");
    plot.append(rising(700, 2));
    QCOMPARE(plot.xMaximum(), 1000.0);
    plot.setComplete(true);
    QVERIFY(plot.xMaximum() > 700 && plot.xMaximum() < 710);
    plot.setXRange(20, 60);
    plot.setFollowing(true);
    QVERIFY(plot.xMaximum() > 700 && plot.xMaximum() < 710);
    plot.setComplete(false);
    QCOMPARE(plot.xMaximum(), 1000.0);
  }

  void headingsNameTheAxis() {
    LossPlot loss("Loss");
    SmallPlot speed("Tokens/s", 3, [](double v) { return formatFixed(v, 0); });
    speed.linkTo(&loss);
    QCOMPARE(loss.accessibleName(), QString("Loss by step"));
    loss.setAxis(PlotAxis::time);
    QCOMPARE(loss.accessibleName(), QString("Loss by time"));
    QCOMPARE(speed.accessibleName(), QString("Tokens/s by time"));
    QCOMPARE(areaOf(speed)->accessibleName(), QString("Tokens/s by time"));
  }

  void axesChange() {
    LossPlot plot("Loss");
    plot.setSeries(rising(100, 2));
    plot.setAxis(PlotAxis::tokens);
    QCOMPARE(plot.xMaximum(), 100'000.0);
    plot.setXRange(20'000, 40'000);
    plot.setAxis(PlotAxis::time);
    QCOMPARE(plot.xMinimum(), 40.0);
    QCOMPARE(plot.xMaximum(), 80.0);
  }

  void plotsShareRangeAndCrosshair() {
    LossPlot loss("Loss");
    SmallPlot speed("Tokens/s", 3, [](double v) { return formatThousands(std::llround(v)); });
    loss.setSeries(rising(100, 2));
    speed.setSeries(rising(100, 11'840));
    speed.linkTo(&loss);
    loss.setXRange(10, 30);
    QCOMPARE(areaOf(speed)->xAxis->range().lower, 10.0);
    emit areaOf(speed)->xRangeChosen(40, 80);
    QCOMPARE(loss.xMinimum(), 40.0);
    QCOMPARE(areaOf(speed)->xAxis->range().upper, 80.0);
    QVERIFY(!loss.isFollowing());
    loss.setCrosshair(50);
    QCOMPARE(areaOf(speed)->crosshair()->x(), std::optional(50.0));
    emit areaOf(speed)->crosshairMoved(std::nullopt);
    QVERIFY(!areaOf(loss)->crosshair()->x().has_value());
    loss.setAxis(PlotAxis::time);
    QVERIFY(areaOf(speed)->axis() == PlotAxis::time);
  }

  void thePeakIsMarked() {
    SmallPlot plot("Memory", 1, [](double v) { return formatFixed(v, 1); });
    plot.resize(500, 160);
    QVector<PlotPoint> hill = rising(100, 1);
    for (PlotPoint& point : hill)
      point.value = 2 - std::fabs(point.step - 60) / 50;
    plot.setPeak({.step = 60, .value = 2}, "peak 2.0 MiB, backward of layer 3");
    plot.setSeries(hill);
    plot.show();
    QVERIFY(QTest::qWaitForWindowExposed(&plot));
    PlotArea* area = areaOf(plot);
    QCOMPARE(area->accessibleDescription(), QString("peak 2.0 MiB, backward of layer 3"));
    area->replot();
    const QPoint dot(static_cast<int>(area->xAxis->coordToPixel(60)),
                     static_cast<int>(area->yAxis->coordToPixel(2)));
    QVERIFY(area->axisRect()->rect().contains(dot));
    QCOMPARE(area->grab().toImage().pixelColor(dot), theme().surface);
    // There is room for the words above it.
    QVERIFY(dot.y() - area->axisRect()->top() >= 16);
    plot.clear();
    area->replot();
    QVERIFY(area->accessibleDescription().isEmpty());
  }

  void keysMoveAndFollow() {
    LossPlot plot("Loss");
    plot.resize(600, 300);
    plot.show();
    plot.setSeries(rising(100, 2));
    PlotArea* area = areaOf(plot);
    QTest::keyClick(area, Qt::Key_Plus);
    QVERIFY(!plot.isFollowing());
    QVERIFY(plot.xMaximum() < 100);
    const double before = plot.xMinimum();
    QTest::keyClick(area, Qt::Key_Right);
    QVERIFY(plot.xMinimum() > before);
    QTest::keyClick(area, Qt::Key_Home);
    QVERIFY(plot.isFollowing());
  }

  void dragPansAndClickOpensACheckpoint() {
    LossPlot plot("Loss");
    plot.resize(600, 300);
    plot.show();
    plot.setSeries(rising(100, 2));
    plot.setCheckpoints({at(50, 0)});
    QVERIFY(!plot.grab().isNull());
    PlotArea* area = areaOf(plot);
    QSignalSpy clicked(&plot, &LossPlot::checkpointClicked);
    const QPoint triangle(static_cast<int>(area->xAxis->coordToPixel(50)),
                          area->axisRect()->bottom() - 3);
    QTest::mouseClick(area, Qt::LeftButton, {}, triangle);
    QCOMPARE(clicked.count(), 1);
    QCOMPARE(clicked[0][0].toDouble(), 50.0);
    QTest::mouseClick(area, Qt::LeftButton, {}, triangle - QPoint(60, 0));
    QCOMPARE(clicked.count(), 1);
    QVERIFY(plot.isFollowing());
    QTest::mousePress(area, Qt::LeftButton, {}, QPoint(300, 100));
    QTest::mouseMove(area, QPoint(250, 100));
    QTest::mouseMove(area, QPoint(200, 100));
    QTest::mouseRelease(area, Qt::LeftButton, {}, QPoint(200, 100));
    QVERIFY(!plot.isFollowing());
    QVERIFY(plot.xMinimum() > 1);
  }

  void csvReadsBack() {
    QTemporaryDir folder;
    const QString path = folder.filePath("loss.csv");
    LossPlot plot("Loss");
    plot.setSmoothing(0.5);
    plot.setSeries({at(1, 0.1), at(2, kNaN), at(3, 0.30000000000000004)});
    plot.setValidation({at(3, 1.5)});
    QCOMPARE(plot.exportCsv(path), QString());
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QStringList lines = QString::fromUtf8(file.readAll()).split('\n');
    QCOMPARE(lines[0], QString("series,step,tokens,seconds,value,smoothed"));
    QCOMPARE(lines.size(), 6);
    QCOMPARE(lines[1], QString("train,1,1000,2,0.1,0.1"));
    QCOMPARE(lines[2].split(',')[4], QString("nan"));
    QCOMPARE(lines[3].split(',')[4].toDouble(), 0.30000000000000004);
    QCOMPARE(lines[4], QString("validation,3,3000,6,1.5,"));
  }

  void failedExportSaysWhy() {
    const LossPlot plot("Loss");
    const QString answer = plot.exportCsv("/no/such/folder/loss.csv");
    QVERIFY2(answer.contains("/no/such/folder/loss.csv"), qPrintable(answer));
    QVERIFY(plot.exportPng("/no/such/folder/loss.png").contains("Could not write"));
  }

  void pngHoldsTheCurve() {
    QTemporaryDir folder;
    const QString path = folder.filePath("loss.png");
    LossPlot plot("Loss");
    plot.resize(500, 260);
    plot.show();
    plot.setSeries(noisy(500));
    QCOMPARE(plot.exportPng(path), QString());
    const QImage image(path);
    QCOMPARE(image.size(), QSize(1000, 520));
    const QColor curve = seriesStyle(1).colour;
    int found = 0;
    for (int y = 100; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        if (image.pixelColor(x, y) == curve) ++found;
      }
    }
    QVERIFY2(found > 200, qPrintable(QString::number(found)));
  }

  void emptyPlotSaysSo() {
    LossPlot plot("Loss");
    plot.setEmptyText("Nothing yet");
    plot.resize(400, 200);
    plot.show();
    const QImage empty = plot.grab().toImage();
    plot.setSeries(rising(10, 2));
    QTest::qWait(20);
    QVERIFY(plot.grab().toImage() != empty);
    QVERIFY(areaOf(plot)->yAxis->tickLabels());
    plot.clear();
    QVERIFY(!areaOf(plot)->yAxis->tickLabels());
  }

  /// Figures for the report; the limits are wide, for a busy machine.
  void aMillionPoints() {
    const QVector<PlotPoint> points = noisy(kMany);
    LossPlot plot("Loss");
    plot.resize(760, 330);
    plot.show();
    // Processor time, which the rest of a busy machine does not stretch.
    const auto since_ms = [](std::clock_t start) {
      return 1000.0 * (std::clock() - start) / CLOCKS_PER_SEC;
    };
    std::clock_t start = std::clock();
    plot.setSeries(points);
    areaOf(plot)->replot(QCustomPlot::rpImmediateRefresh);
    const double open_ms = since_ms(start);
    QVERIFY(plot.xMinimum() <= points.front().step && plot.xMaximum() >= points.back().step);
    constexpr int kFrames = 20;
    start = std::clock();
    for (int i = 0; i < kFrames; ++i) {
      plot.setXRange(i * 100.0, kMany - i * 50.0);
      areaOf(plot)->replot(QCustomPlot::rpImmediateRefresh);
    }
    const double frame_ms = since_ms(start) / kFrames;
    qInfo("%d points: open %.0f ms, pan %.1f ms a frame", kMany, open_ms, frame_ms);
    QVERIFY(open_ms < 5000);
    QVERIFY(frame_ms < 500);
  }
};

QTEST_MAIN(TestPlots)
#include "test_plots.moc"
