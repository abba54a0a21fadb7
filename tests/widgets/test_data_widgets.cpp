// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QImage>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QtTest/QtTest>

#include "widgets/histogram.h"
#include "widgets/progress_row.h"
#include "widgets/theme.h"
#include "widgets/token_view.h"

namespace athanor {

class TestDataWidgets : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { applyTheme(*qApp, Appearance::light); }
  void whiteSpaceIsSeen_data();
  void whiteSpaceIsSeen();
  void tokensWrap();
  void maskedOnesHaveNoColour();
  void progressCountsAStage();
  void cancelIsAskedForOnce();
  void barsAreDrawn();
};

namespace {

QVector<ViewedToken> someTokens(int count, bool trained) {
  QVector<ViewedToken> tokens;
  for (int i = 0; i < count; ++i)
    tokens << ViewedToken{.text = " token", .id = i, .trained = trained, .begins = i == 2};
  return tokens;
}

int countOf(const QImage& image, bool (*matches)(const QColor&)) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x)
      count += matches(image.pixelColor(x, y)) ? 1 : 0;
  return count;
}

/// Light, but not grey: the tint behind a token.
bool isTint(const QColor& colour) {
  return colour.lightness() > 180 && colour.saturation() > 16;
}

bool isBar(const QColor& colour) {
  return colour == seriesStyle(2).colour;
}

QImage drawn(QWidget& widget) {
  QImage image(widget.size(), QImage::Format_ARGB32);
  image.fill(theme().surface);
  widget.render(&image, {}, {}, QWidget::DrawChildren);
  return image;
}

}  // namespace

void TestDataWidgets::whiteSpaceIsSeen_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("shown");
  QTest::newRow("word") << " the"
                        << " the";
  QTest::newRow("space") << "  " << QString::fromUtf8("··");
  QTest::newRow("line") << "a\n" << QString::fromUtf8("a↵");
  QTest::newRow("tab") << "\t" << QString::fromUtf8("⇥");
}

void TestDataWidgets::whiteSpaceIsSeen() {
  QFETCH(QString, text);
  QFETCH(QString, shown);
  QCOMPARE(visibleText(text), shown);
}

void TestDataWidgets::tokensWrap() {
  TokenView view;
  view.setRows({someTokens(40, true), someTokens(3, true)});
  QVERIFY(view.heightForWidth(200) > view.heightForWidth(400));
  QVERIFY(view.heightForWidth(400) > view.heightForWidth(4000));
  // Even where nothing has room, each has a place.
  QVERIFY(view.heightForWidth(1) > 0);
  view.setRows({});
  QCOMPARE(view.heightForWidth(400), 0);
}

void TestDataWidgets::maskedOnesHaveNoColour() {
  TokenView view;
  view.resize(400, 60);
  QVector<ViewedToken> masked = someTokens(6, false);
  masked[2].begins = false;
  view.setRows({masked});
  QCOMPARE(countOf(drawn(view), isTint), 0);
  view.setRows({someTokens(6, true)});
  QVERIFY(countOf(drawn(view), isTint) > 1000);
}

void TestDataWidgets::progressCountsAStage() {
  ProgressRow row;
  row.start("Reading");
  auto* bar = row.findChild<QProgressBar*>();
  QCOMPARE(bar->maximum(), 0);
  row.setProgress(43, 100);
  QCOMPARE(row.progressText(), QString("43 %"));
  QCOMPARE(bar->value(), 430);
  // The time left is reckoned once there is some.
  QTest::qWait(1100);
  row.setProgress(86, 100);
  QVERIFY2(row.progressText().startsWith("86 %, ") && row.progressText().endsWith(" left"),
           qPrintable(row.progressText()));
  row.setProgress(1, 100);
  QCOMPARE(row.progressText(), QString("1 %"));
}

void TestDataWidgets::cancelIsAskedForOnce() {
  ProgressRow row;
  QSignalSpy asked(&row, &ProgressRow::cancelRequested);
  row.start("Reading");
  auto* button = row.findChild<QPushButton*>("cancel");
  button->click();
  button->click();
  QCOMPARE(asked.size(), 1);
  row.start("Reading again");
  button->click();
  QCOMPARE(asked.size(), 2);
}

void TestDataWidgets::barsAreDrawn() {
  Histogram histogram("tokens in a document", "documents");
  QCOMPARE(histogram.accessibleName(), QString("documents by tokens in a document"));
  histogram.resize(400, 240);
  histogram.show();
  QCOMPARE(countOf(histogram.grab().toImage(), isBar), 0);
  histogram.setCounts({0, 0, 4, 9, 30, 12, 1});
  histogram.setMark(32, "context 32");
  QTest::qWait(50);
  QVERIFY(countOf(histogram.grab().toImage(), isBar) > 2000);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestDataWidgets)
#include "test_data_widgets.moc"
