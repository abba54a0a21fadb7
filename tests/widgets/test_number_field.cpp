// SPDX-License-Identifier: GPL-3.0-or-later
// The number input and the number formats.

#include <QApplication>
#include <QComboBox>
#include <QLocale>
#include <QScrollArea>
#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <cmath>
#include <limits>

#include "widgets/form_row.h"
#include "widgets/format.h"
#include "widgets/number_field.h"
#include "widgets/number_label.h"
#include "widgets/theme.h"

using namespace athanor;

namespace {

const QString kMinus = QString(QChar(0x2212));

void sendWheel(QWidget& widget, int delta) {
  QWheelEvent event(QPointF(5, 5), widget.mapToGlobal(QPointF(5, 5)), QPoint(), QPoint(0, delta),
                    Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
  QApplication::sendEvent(&widget, &event);
}

void type(NumberField& field, const QString& text) {
  field.selectAll();
  QTest::keyClicks(&field, text);
}

}  // namespace

class TestNumberField : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    // A comma for the decimal point must not reach any number.
    QLocale::setDefault(QLocale(QLocale::German, QLocale::Germany));
    applyTheme(*qApp, Appearance::light);
  }

  void formats_data() {
    QTest::addColumn<QString>("found");
    QTest::addColumn<QString>("expected");
    const double nan = std::nan("");
    QTest::newRow("thousands") << formatThousands(11900) << "11,900";
    QTest::newRow("millions") << formatThousands(1234567) << "1,234,567";
    QTest::newRow("hundreds") << formatThousands(999) << "999";
    QTest::newRow("negative") << formatThousands(-123456) << kMinus + "123,456";
    QTest::newRow("least integer") << formatThousands(std::numeric_limits<std::int64_t>::min())
                                   << kMinus + "9,223,372,036,854,775,808";
    QTest::newRow("count small") << formatCount(41216) << "41,216";
    QTest::newRow("count million") << formatCount(977e6) << "977 M";
    QTest::newRow("count billion") << formatCount(6.7e9) << "6.7 B";
    QTest::newRow("count rounding up") << formatCount(999'999'999) << "1 B";
    QTest::newRow("loss") << formatLoss(2.9063) << "2.906";
    QTest::newRow("loss nan") << formatLoss(nan) << "not finite";
    QTest::newRow("fixed grouped") << formatFixed(12345.678, 2) << "12,345.68";
    QTest::newRow("fixed negative") << formatFixed(-0.25, 2) << kMinus + "0.25";
    QTest::newRow("no negative zero") << formatFixed(-0.001, 2) << "0.00";
    QTest::newRow("rate") << formatLearningRate(2.8e-4) << "2.80e-4";
    QTest::newRow("rate one") << formatLearningRate(1) << "1.00e0";
    QTest::newRow("rate none") << formatLearningRate(0) << "0";
    QTest::newRow("percent") << formatPercent(0.68) << "68.0 %";
    QTest::newRow("bytes") << formatBytes(512) << "512 B";
    QTest::newRow("kib") << formatBytes(1536) << "1.5 KiB";
    QTest::newRow("mib") << formatBytes(96783565) << "92.3 MiB";
    QTest::newRow("gib") << formatBytes(1095216660) << "1.02 GiB";
    QTest::newRow("never 1024 MiB") << formatBytes(1073741823) << "1.00 GiB";
    QTest::newRow("gib alone") << formatGib(14302241259) << "13.32";
    QTest::newRow("days") << formatDuration(3 * 86400 + 21 * 3600) << "3 d 21 h";
    QTest::newRow("hours") << formatDuration(3600 + 55 * 60) << "1 h 55 min";
    QTest::newRow("minutes") << formatDuration(125) << "2 min 05 s";
    QTest::newRow("never 60 s") << formatDuration(59.7) << "1 min 00 s";
    QTest::newRow("never 24 h") << formatDuration(86399) << "1 d 0 h";
    QTest::newRow("seconds") << formatDuration(4.2) << "4.2 s";
    QTest::newRow("milliseconds") << formatDuration(0.05) << "50 ms";
    QTest::newRow("no duration") << formatDuration(nan) << noValue();
  }

  void formats() {
    QFETCH(QString, found);
    QFETCH(QString, expected);
    QCOMPARE(found, expected);
  }

  void parses_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("ok");
    QTest::addColumn<double>("value");
    QTest::newRow("plain") << "4096" << true << 4096.0;
    QTest::newRow("grouped") << "4,096" << true << 4096.0;
    QTest::newRow("thousand") << "64k" << true << 64000.0;
    QTest::newRow("billion") << "6.7 B" << true << 6.7e9;
    QTest::newRow("scientific") << "3e-4" << true << 3e-4;
    QTest::newRow("small") << "0.0003" << true << 0.0003;
    QTest::newRow("minus sign") << kMinus + "2" << true << -2.0;
    QTest::newRow("empty") << "" << false << 0.0;
    QTest::newRow("word") << "many" << false << 0.0;
    QTest::newRow("infinite") << "inf" << false << 0.0;
    QTest::newRow("suffix alone") << "k" << false << 0.0;
    QTest::newRow("too large") << "1e400" << false << 0.0;
  }

  void parses() {
    QFETCH(QString, text);
    QFETCH(bool, ok);
    QFETCH(double, value);
    double found = -1;
    QCOMPARE(parseNumber(text, found), ok);
    QCOMPARE(found, ok ? value : -1.0);
  }

  void showsThousands() {
    NumberField field;
    field.setValue(65536);
    QCOMPARE(field.text(), QString("65,536"));
    QCOMPARE(field.value(), 65536.0);
  }

  void smallRatesSurvive_data() {
    QTest::addColumn<double>("value");
    for (const double value : {0.0003, 4e-4, 2.8e-4, 1e-12, 0.1, 3.25, 1e20, 0.1 + 0.2}) {
      QTest::newRow(qPrintable(QString::number(value))) << value;
    }
  }

  void smallRatesSurvive() {
    QFETCH(double, value);
    for (const NumberKind kind : {NumberKind::scientific, NumberKind::real}) {
      NumberField field(kind);
      field.setValue(value);
      double read = 0;
      QVERIFY2(parseNumber(field.text(), read), qPrintable(field.text()));
      QCOMPARE(read, value);
    }
  }

  void typingReportsEachValidValue() {
    NumberField field;
    field.setRange(1, 9000);
    field.setValue(7);
    QSignalSpy changed(&field, &NumberField::valueChanged);
    type(field, "12");
    QCOMPARE(changed.count(), 2);
    QCOMPARE(field.value(), 12.0);
  }

  void wrongTextNamesItsProblem_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("problem");
    QTest::newRow("off the multiple") << "4095"
                                      << "must be a multiple of 128";
    QTest::newRow("too small") << "0"
                               << "must be at least 128";
    QTest::newRow("too large") << "1m"
                               << "must be at most 8,192";
    QTest::newRow("no number") << "abc"
                               << "is not a number";
    QTest::newRow("fraction") << "128.5"
                              << "must be a whole number";
  }

  void wrongTextNamesItsProblem() {
    QFETCH(QString, text);
    QFETCH(QString, problem);
    NumberField field;
    field.setRange(128, 8192);
    field.setMultiple(128);
    field.setValue(4096);
    QSignalSpy problems(&field, &NumberField::problemChanged);
    type(field, text);
    QCOMPARE(field.problem(), problem);
    QVERIFY(problems.count() >= 1);
    QVERIFY(field.property("problem").toBool());
    QVERIFY(std::fmod(field.value(), 128) == 0);
    type(field, "256");
    QCOMPARE(field.problem(), QString());
    QCOMPARE(field.value(), 256.0);
  }

  void outerProblemGoesWithTheNextEdit() {
    NumberField field;
    field.setValue(3);
    field.setProblem("does not fit the model");
    QCOMPARE(field.problem(), QString("does not fit the model"));
    type(field, "4");
    QCOMPARE(field.problem(), QString());
  }

  void keysStep_data() {
    QTest::addColumn<int>("key");
    QTest::addColumn<double>("expected");
    QTest::newRow("up") << int(Qt::Key_Up) << 1152.0;
    QTest::newRow("down") << int(Qt::Key_Down) << 896.0;
    QTest::newRow("page up") << int(Qt::Key_PageUp) << 2304.0;
    QTest::newRow("page down stops at the least") << int(Qt::Key_PageDown) << 128.0;
  }

  void keysStep() {
    QFETCH(int, key);
    QFETCH(double, expected);
    NumberField field;
    field.setRange(128, 8192);
    field.setMultiple(128);
    field.setValue(1024);
    QTest::keyClick(&field, static_cast<Qt::Key>(key));
    QCOMPARE(field.value(), expected);
    QCOMPARE(field.problem(), QString());
  }

  void scientificStepsDouble() {
    NumberField field(NumberKind::scientific);
    field.setRange(0, 1);
    field.setValue(3e-4);
    QTest::keyClick(&field, Qt::Key_Up);
    QCOMPARE(field.text(), QString("6e-4"));
    QTest::keyClick(&field, Qt::Key_Down);
    QCOMPARE(field.value(), 3e-4);
  }

  void specialValueHasItsWord() {
    NumberField field;
    field.setRange(1, 64);
    field.setSpecialValue(0, "Auto");
    field.setValue(0);
    QCOMPARE(field.text(), QString("Auto"));
    QCOMPARE(field.problem(), QString());
    type(field, "8");
    QCOMPARE(field.value(), 8.0);
    type(field, "auto");
    QCOMPARE(field.value(), 0.0);
  }

  void wheelChangesNothing() {
    QScrollArea area;
    auto* inner = new QWidget;
    auto* layout = new QVBoxLayout(inner);
    auto* number = new NumberField;
    auto* combo = new QComboBox;
    combo->addItems({"a", "b", "c"});
    auto* other = new QLineEdit;
    layout->addWidget(other);
    layout->addWidget(number);
    layout->addWidget(combo);
    area.setWidget(inner);
    area.show();
    other->setFocus();
    number->setValue(5);
    sendWheel(*number, -120);
    sendWheel(*combo, -120);
    QCOMPARE(number->value(), 5.0);
    QCOMPARE(combo->currentIndex(), 0);
    QVERIFY(combo->focusPolicy() == Qt::StrongFocus);
  }

  void formRowShowsTheProblem() {
    auto* field = new NumberField;
    field->setRange(1, 10);
    field->setValue(5);
    FormRow row("Context", field);
    row.show();
    const int calm = row.sizeHint().height();
    type(*field, "11");
    QTRY_VERIFY(row.sizeHint().height() > calm);
    QCOMPARE(field->accessibleName(), QString("Context"));
    QCOMPARE(field->accessibleDescription(), QString("must be at most 10"));
    type(*field, "9");
    QTRY_COMPARE(row.sizeHint().height(), calm);
  }

  void digitsAreAsWideAsOneAnother() {
    for (const FontRole role : {FontRole::body, FontRole::figure, FontRole::axis}) {
      const QFontMetricsF metrics(themedFont(role));
      QCOMPARE(tabularWidth("1,111", metrics), tabularWidth("8,888", metrics));
      NumberLabel narrow("11.1", role);
      NumberLabel wide("88.8", role);
      QCOMPARE(narrow.sizeHint(), wide.sizeHint());
    }
  }
};

QTEST_MAIN(TestNumberField)
#include "test_number_field.moc"
