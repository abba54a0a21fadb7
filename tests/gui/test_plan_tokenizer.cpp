// SPDX-License-Identifier: GPL-3.0-or-later
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QtTest/QtTest>

#include "engine/data/tokenizer.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/tokenizer_choice.h"
#include "tests/gui/window_fixture.h"

namespace athanor {
namespace fs = std::filesystem;

/// A tokenizer that is there already, chosen in the plan.
class TestPlanTokenizer : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void itsVocabularyIsTakenOver();
  void theRunIsMadeOfItsTokens();
  void whatIsNoneIsSaidAtTheField();
  void aPatternIsAskedForWhereOneIsNeeded();
};

namespace {

constexpr int kPatience_ms = 20'000;
/// Bytes, merges and the end of a text.
constexpr int kTokens = 270;
constexpr int kPadded = 320;

class Place {
 public:
  Place() {
    pretendMeasured(m_fixture.home());
    window().showPage(Page::plan);
    const QByteArray text =
        "the old dog walked to the lake and the small girl looked for the dog. ";
    const Tokenizer tokenizer =
        train_tokenizer(text.repeated(20).toStdString(), kTokens, CancelToken());
    fs::create_directories(folder().toStdString());
    tokenizer.save(folder().toStdString() + "/tokenizer.json");
    m_fingerprint = tokenizer.fingerprint();
  }

  MainWindow& window() { return m_fixture.window(); }
  WindowFixture& fixture() { return m_fixture; }
  PlanForm* form() { return window().planPage()->form(); }
  TokenizerChoice* choice() { return form()->findChild<TokenizerChoice*>(); }
  NumberField* vocabulary() { return form()->findChild<NumberField*>("model.vocabulary"); }
  QPushButton* start() { return window().planPage()->findChild<QPushButton*>("start"); }
  QString folder() const { return m_folder.filePath("tokens"); }
  QString file(const QByteArray& content, const char* name) const {
    QFile made(m_folder.filePath(name));
    if (!made.open(QIODevice::WriteOnly) || made.write(content) < 0) qFatal("not written");
    return made.fileName();
  }
  std::uint64_t fingerprint() const { return m_fingerprint; }

  bool says(const QString& beginning) {
    const QList<QLabel*> labels = choice()->findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
      return !label->isHidden() && label->text().startsWith(beginning);
    });
  }

 private:
  WindowFixture m_fixture;
  QTemporaryDir m_folder;
  std::uint64_t m_fingerprint = 0;
};

}  // namespace

void TestPlanTokenizer::itsVocabularyIsTakenOver() {
  Place place;
  QTRY_VERIFY(place.start()->isEnabled());
  place.choice()->choose(place.folder());
  QVERIFY(!place.start()->isEnabled());
  QTRY_COMPARE_WITH_TIMEOUT(place.vocabulary()->value(), double(kPadded), kPatience_ms);
  QVERIFY2(place.says("270 tokens; a text ends with <|endoftext|>"), "no note");
  QCOMPARE(place.form()->spec().data.tokenizer, place.folder().toStdString());
  QTRY_VERIFY(place.start()->isEnabled());
  // More may be asked for, less would not do.
  place.vocabulary()->selectAll();
  QTest::keyClicks(place.vocabulary(), "269");
  QVERIFY(!place.vocabulary()->problem().isEmpty());
  QTRY_VERIFY(!place.start()->isEnabled());
  place.vocabulary()->setValue(512);
  QTRY_VERIFY(place.start()->isEnabled());
  // A preset has a vocabulary of its own, but no tokenizer.
  place.form()->setPreset(1);
  QCOMPARE(place.vocabulary()->value(), double(kPadded));
  place.choice()->choose({});
  QVERIFY(place.form()->spec().data.tokenizer.empty());
  place.vocabulary()->setValue(269);
  QVERIFY(place.vocabulary()->problem().isEmpty());
  QTRY_VERIFY(place.start()->isEnabled());
  // Undo brings it back.
  auto* undo = place.window().planPage()->findChild<QToolButton*>("undo");
  for (int i = 0; i < 8 && place.form()->spec().data.tokenizer.empty(); ++i) {
    QTRY_VERIFY(undo->isEnabled());
    undo->click();
  }
  QCOMPARE(place.form()->spec().data.tokenizer, place.folder().toStdString());
}

void TestPlanTokenizer::theRunIsMadeOfItsTokens() {
  Place place;
  RunSpec spec = place.fixture().tinySpec(3);
  place.window().planPage()->useSpec(spec);
  place.choice()->choose(place.folder());
  QTRY_VERIFY_WITH_TIMEOUT(place.start()->isEnabled(), kPatience_ms);
  place.start()->click();
  QTRY_VERIFY_WITH_TIMEOUT(place.window().controller().lastEnd(), kPatience_ms);
  const RunRecord& record = place.window().controller().lastEnd()->record;
  QVERIFY2(record.problem.empty(), record.problem.c_str());
  const fs::path kept = place.window().store().run_folder(record.id) / "tokenizer.json";
  QCOMPARE(Tokenizer::load(kept).fingerprint(), place.fingerprint());
}

void TestPlanTokenizer::whatIsNoneIsSaidAtTheField() {
  Place place;
  place.choice()->choose(place.file("{\"model\": {\"type\": \"Unigram\"}}", "tokenizer.json"));
  QTRY_VERIFY_WITH_TIMEOUT(place.says(place.form()->spec().data.tokenizer.c_str()), kPatience_ms);
  QVERIFY(!place.start()->isEnabled());
  place.choice()->choose({});
  QTRY_VERIFY(place.start()->isEnabled());
}

void TestPlanTokenizer::aPatternIsAskedForWhereOneIsNeeded() {
  Place place;
  auto* patterns = place.choice()->findChild<QComboBox*>("data.tokenizer_pattern");
  QVERIFY(patterns->isHidden() || !patterns->isVisible());
  QByteArray ranks;
  for (int byte = 0; byte < 256; ++byte)
    ranks +=
        QByteArray(1, static_cast<char>(byte)).toBase64() + ' ' + QByteArray::number(byte) + '\n';
  place.choice()->choose(place.file(ranks, "mine.tiktoken"));
  QTRY_VERIFY_WITH_TIMEOUT(place.choice()->hasProblem() && patterns->isVisible(), kPatience_ms);
  QTRY_VERIFY(!place.says("It is being read"));
  QVERIFY(!place.start()->isEnabled());
  patterns->setCurrentIndex(patterns->findText("cl100k"));
  emit patterns->activated(patterns->currentIndex());
  QTRY_COMPARE_WITH_TIMEOUT(place.vocabulary()->value(), 320.0, kPatience_ms);
  QCOMPARE(place.form()->spec().data.tokenizer_pattern, std::string("cl100k"));
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPlanTokenizer)
#include "test_plan_tokenizer.moc"
