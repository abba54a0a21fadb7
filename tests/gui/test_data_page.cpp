// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableWidget>
#include <QtTest/QtTest>

#include "gui/pages/comparison_table.h"
#include "gui/pages/corpus_panel.h"
#include "gui/pages/data_page.h"
#include "gui/pages/data_results.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/problem_table.h"
#include "gui/pages/record_table.h"
#include "gui/pages/source_panel.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/number_field.h"
#include "widgets/segmented.h"

namespace athanor {
namespace fs = std::filesystem;

/// A person's own texts and records, from the drop to the run.
class TestDataPage : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void whatIsDroppedIsLookedInto();
  void theTextOfARecordIsFoundAndChosen();
  void badRecordsAreNamedByLine();
  void whatIsNotThereIsExplained();
  void tokensAreCountedAndShown();
  void aRunTakesTheDataOver();
  void duplicatesAreLeftOut();
  void tokenizersAreCompared();
  void preparingIsGivenUp();
};

namespace {

constexpr int kPatience_ms = 30'000;

class Place {
 public:
  Place() {
    window().planPage()->useSpec(m_fixture.tinySpec(3));
    window().planPage()->useData({});
    window().showPage(Page::data);
  }

  MainWindow& window() { return m_fixture.window(); }
  WindowFixture& fixture() { return m_fixture; }
  DataPage& page() { return *window().dataPage(); }
  SourceListModel& model() { return *page().sources()->model(); }
  QPushButton* button(const char* name) { return page().findChild<QPushButton*>(name); }
  QComboBox* box(const char* name) { return page().findChild<QComboBox*>(name); }
  void activate(const char* name, int item) {
    box(name)->setCurrentIndex(item);
    emit box(name)->activated(item);
  }

  QString file(const char* name, const QByteArray& content) const {
    QDir(m_folder.path()).mkpath(QFileInfo(name).path());
    QFile made(m_folder.filePath(name));
    if (!made.open(QIODevice::WriteOnly) || made.write(content) < 0) qFatal("not written");
    return made.fileName();
  }
  QString path(const char* name) const { return m_folder.filePath(name); }

  /// Until all sources are looked into.
  bool looked() {
    return QTest::qWaitFor(
        [this] {
          return std::ranges::all_of(model().rows(), [](const SourceListModel::Row& row) {
            return row.preview.has_value();
          });
        },
        kPatience_ms);
  }
  bool prepared() {
    button("prepare")->click();
    return QTest::qWaitFor([this] { return page().report().has_value(); }, kPatience_ms);
  }
  Banner* banner() { return page().findChild<Banner*>(); }

 private:
  WindowFixture m_fixture;
  QTemporaryDir m_folder;
};

QByteArray records(int count) {
  QByteArray lines;
  for (int i = 0; i < count; ++i) {
    lines += R"({"title": "Day )" + QByteArray::number(i) + R"(", "body": "On day )" +
             QByteArray::number(i) + " the dog went to the lake and the cat slept " +
             QByteArray("again and ").repeated(i % 7) + "again.\"}\n";
  }
  return lines;
}

}  // namespace

void TestDataPage::whatIsDroppedIsLookedInto() {
  Place place;
  QVERIFY(!place.button("useInPlan")->isEnabled());
  const QString text = place.fixture().textFile();
  place.file("more/a.csv", "text,year\n\"A day, a night\",1999\nAnother,2001\n");
  place.file("more/b.txt", "One more text.\n");
  drop(&place.page(), {text, place.file("days.jsonl", records(30)), place.path("more")});
  QCOMPARE(place.model().rowCount(), 3);
  QVERIFY(place.looked());
  for (const SourceListModel::Row& row : place.model().rows())
    QVERIFY2(row.preview->problem.empty(), row.preview->problem.c_str());
  QCOMPARE(place.model().rows()[1].preview->documents, std::int64_t{30});
  QCOMPARE(place.model().rows()[2].preview->files.size(), std::size_t{2});
  QVERIFY(place.button("useInPlan")->isEnabled());
  // Of the last one, which is chosen, the records are shown.
  auto* table = place.page().findChild<RecordTable*>();
  QTRY_VERIFY(table->rowCount() >= 2);
  place.page().sources()->choose(1);
  QTRY_COMPARE(table->columnCount(), 4);
  QCOMPARE(table->horizontalHeaderItem(1)->text(), QString("title (text)"));
  QCOMPARE(table->item(0, 1)->text(), QString("Day 0"));
}

void TestDataPage::theTextOfARecordIsFoundAndChosen() {
  Place place;
  place.page().addSources({place.file("days.jsonl", records(30))});
  QVERIFY(place.looked());
  QCOMPARE(place.model().rows()[0].preview->text, std::string("body"));
  auto* table = place.page().findChild<RecordTable*>();
  QTRY_VERIFY(table->rowCount() > 0);
  QVERIFY(table->item(0, 3)->text().startsWith("On day 0"));
  place.box("text")->setEditText("{title}: {body}");
  QTRY_VERIFY_WITH_TIMEOUT(table->item(0, 3)->text().startsWith("Day 0: On day 0"), kPatience_ms);
  QCOMPARE(place.page().spec().sources.at(0).text, std::string("{title}: {body}"));
  place.box("text")->setEditText("author");
  QTRY_VERIFY_WITH_TIMEOUT(!place.button("useInPlan")->isEnabled(), kPatience_ms);
}

void TestDataPage::badRecordsAreNamedByLine() {
  Place place;
  QByteArray lines = records(20);
  lines.insert(lines.indexOf('\n') + 1, "{\"body\": 7, \n");
  place.page().addSources({place.file("days.jsonl", lines)});
  QVERIFY(place.looked());
  auto* problems = place.page().findChild<ProblemTable*>();
  QTRY_COMPARE(problems->rowCount(), 1);
  QCOMPARE(problems->item(0, 1)->text(), QString("2"));
  QVERIFY(place.button("prepare")->isEnabled());
  place.activate("badRecords", static_cast<int>(BadRecords::fail));
  QTRY_VERIFY_WITH_TIMEOUT(!place.button("prepare")->isEnabled(), kPatience_ms);
  QTRY_VERIFY(place.banner()->isVisible());
  QVERIFY2(place.banner()->content().text.contains("line 2"),
           qPrintable(place.banner()->content().text));
}

void TestDataPage::whatIsNotThereIsExplained() {
  Place place;
  place.page().addSources({place.path("nowhere.txt")});
  QVERIFY(place.looked());
  QVERIFY(place.banner()->isVisible());
  QVERIFY2(place.banner()->content().text.contains("nowhere.txt"),
           qPrintable(place.banner()->content().text));
  QVERIFY(!place.button("useInPlan")->isEnabled() && !place.button("prepare")->isEnabled());
}

void TestDataPage::tokensAreCountedAndShown() {
  Place place;
  place.page().addSources({place.file("days.jsonl", records(200))});
  QVERIFY(place.looked());
  place.page().findChild<NumberField*>("vocabulary")->setValue(300);
  QVERIFY(place.prepared());
  const DataReport& report = *place.page().report();
  QCOMPARE(report.counts.documents, std::int64_t{200});
  QCOMPARE(report.fingerprint.size(), 16);
  QVERIFY(report.statistics.tokens > 0 && report.validation_tokens > 0);
  QCOMPARE(report.statistics.context, std::int64_t{32});
  std::int64_t counted = 0;
  for (const std::int64_t count : report.statistics.lengths)
    counted += count;
  QCOMPARE(counted, report.statistics.documents);
  QCOMPARE(report.batch.size(), 4);
  QCOMPARE(report.batch[0].size(), 32);
  QVERIFY(!report.batch[0][0].trained && report.batch[0][1].trained);
  QVERIFY(report.tokenizer.measure.bytes_per_token() > 1);
  // The first batch has ends of documents, and each begins another.
  int ends = 0;
  for (const QVector<ViewedToken>& row : report.batch) {
    for (int i = 0; i + 1 < row.size(); ++i) {
      const bool ended = row[i].text == "<|endoftext|>";
      QCOMPARE(row[i + 1].begins, ended);
      ends += ended ? 1 : 0;
    }
  }
  QVERIFY(ends > 0);
  // What is prepared need not be again, until something else is asked for.
  QVERIFY(!place.button("prepare")->isEnabled());
  place.window().planPage()->form()->findChild<NumberField*>("model.context")->setValue(64);
  QVERIFY(!place.page().report());
  QVERIFY(place.button("prepare")->isEnabled());
}

void TestDataPage::aRunTakesTheDataOver() {
  Place place;
  pretendMeasured(place.fixture().home());
  place.page().addSources({place.file("days.jsonl", records(200))});
  place.page().findChild<NumberField*>("weight")->setValue(2);
  place.page().findChild<NumberField*>("vocabulary")->setValue(290);
  QVERIFY(place.looked() && place.prepared());
  const QString fingerprint = place.page().report()->fingerprint;
  place.button("useInPlan")->click();
  QVERIFY(place.window().page() == Page::plan);
  const RunSpec spec = place.window().planPage()->form()->spec();
  QCOMPARE(spec.sources, place.page().spec().sources);
  QCOMPARE(spec.sources.at(0).weight, 2.0);
  QCOMPARE(spec.model.vocabulary, std::int64_t{290});
  QCOMPARE(prepare_data(place.fixture().home(), spec, CancelToken(), {}).fingerprint,
           fingerprint.toStdString());
  auto* start = place.window().planPage()->findChild<QPushButton*>("start");
  QTRY_VERIFY_WITH_TIMEOUT(start->isEnabled(), kPatience_ms);
  start->click();
  QTRY_VERIFY_WITH_TIMEOUT(place.window().controller().lastEnd(), kPatience_ms);
  const RunRecord& record = place.window().controller().lastEnd()->record;
  QVERIFY2(record.problem.empty(), record.problem.c_str());
  QCOMPARE(kept_fingerprint(place.window().store().run_folder(record.id)),
           fingerprint.toStdString());
}

void TestDataPage::duplicatesAreLeftOut() {
  Place place;
  place.page().addSources({place.file("days.jsonl", records(60) + records(40))});
  QVERIFY(place.looked());
  place.page().findChild<NumberField*>("vocabulary")->setValue(300);
  place.activate("duplicates", static_cast<int>(Duplicates::remove_exact));
  QVERIFY(place.prepared());
  QCOMPARE(place.page().report()->counts.duplicates, std::int64_t{40});
  QCOMPARE(place.page().report()->counts.documents, std::int64_t{60});
}

void TestDataPage::tokenizersAreCompared() {
  Place place;
  place.page().addSources({place.fixture().textFile()});
  QVERIFY(place.looked() && place.prepared());
  auto* table = place.page().findChild<ComparisonTable*>();
  QCOMPARE(table->rowCount(), 1);
  const Tokenizer bytes({});
  fs::create_directories(place.path("bytes").toStdString());
  bytes.save(place.path("bytes").toStdString() + "/tokenizer.json");
  auto* results = place.page().findChild<DataResults*>();
  emit results->compareRequested(place.path("bytes"));
  QTRY_COMPARE_WITH_TIMEOUT(table->rowCount(), 2, kPatience_ms);
  QCOMPARE(table->item(1, 0)->text(), QString("bytes"));
  QCOMPARE(table->item(1, 1)->text(), QString("257"));
  QCOMPARE(table->item(1, 2)->text(), QString("1.00"));
  emit results->compareRequested(place.fixture().textFile());
  QTRY_COMPARE_WITH_TIMEOUT(table->rowCount(), 3, kPatience_ms);
  QVERIFY(!table->item(2, 0)->toolTip().isEmpty());
}

void TestDataPage::preparingIsGivenUp() {
  Place place;
  place.page().addSources({place.file("days.jsonl", records(20'000))});
  QVERIFY(place.looked());
  place.button("prepare")->click();
  QTRY_VERIFY(place.page().findChild<QPushButton*>("cancel")->isVisible());
  place.page().findChild<QPushButton*>("cancel")->click();
  QTRY_VERIFY(!place.page().findChild<QPushButton*>("cancel")->isVisible());
  QVERIFY(!place.page().report());
  QVERIFY(place.button("prepare")->isEnabled());
}

}  // namespace athanor

QTEST_MAIN(athanor::TestDataPage)
#include "test_data_page.moc"
