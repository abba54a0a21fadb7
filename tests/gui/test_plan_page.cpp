// SPDX-License-Identifier: GPL-3.0-or-later
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QTableView>
#include <QtTest/QtTest>

#include "gui/pages/plan_course.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/proposal_card.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/format.h"
#include "widgets/memory_bar.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

/// Too much for this machine as it is set, by its activations.
RunSpec tooLarge() {
  RunSpec spec = presets()[1].spec;
  spec.train.micro_batch = 64;
  spec.model.context = 4096;
  spec.model.layers = 64;
  while (estimate_run(spec).fits && spec.train.micro_batch < 4096)
    spec.train.micro_batch *= 2;
  return spec;
}

}  // namespace

class TestPlanPage : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void problemsStandAtTheirField_data();
  void problemsStandAtTheirField();
  void fieldsExplainThemselves();
  void choicesSayWhatTheyChange();
  void momentsAreAChoice();
  void optimizerIsAChoice();
  void refusalStandsAtItsField();
  void unusableTextBlocksStart_data();
  void unusableTextBlocksStart();
  void barSumsToThePlan();
  void doesNotFitBlocksStart();
  void proposalMakesItFit();
  void showsEveryBuffer();
  void rehearsalEqualsThePlan();
  void reserveIsKeptFree();

 private:
  static QPushButton* startButton(MainWindow& window) {
    return window.planPage()->findChild<QPushButton*>("start");
  }
  static NumberField* field(MainWindow& window, const QString& path) {
    return window.planPage()->form()->findChild<NumberField*>(path);
  }
};

void TestPlanPage::problemsStandAtTheirField_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("typed");
  QTest::addColumn<QString>("part");
  QTest::newRow("out of range") << "model.context"
                                << "4"
                                << "8";
  QTest::newRow("no number") << "train.steps"
                             << "many"
                             << "number";
  QTest::newRow("heads do not divide the width") << "model.heads"
                                                 << "3"
                                                 << "Heads";
  QTest::newRow("kv heads do not divide the heads") << "model.kv_heads"
                                                    << "3"
                                                    << "Key-value heads";
}

void TestPlanPage::problemsStandAtTheirField() {
  QFETCH(QString, path);
  QFETCH(QString, typed);
  QFETCH(QString, part);
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  QTRY_VERIFY(startButton(window)->isEnabled());
  NumberField* input = field(window, path);
  QVERIFY(input != nullptr);
  const double before = input->value();

  input->setFocus();
  input->selectAll();
  QTest::keyClicks(input, typed);
  QTRY_VERIFY2(input->problem().contains(part), qPrintable(input->problem()));
  QVERIFY(!startButton(window)->isEnabled());
  // Showing the problem must not ask for another estimate, which would show it again.
  QTest::qWait(200);
  const QSignalSpy edits(window.planPage()->form(), &PlanForm::edited);
  QTest::qWait(200);
  QCOMPARE(edits.size(), 0);

  input->selectAll();
  QTest::keyClicks(input, QString::number(before, 'f', 0));
  QTRY_VERIFY(startButton(window)->isEnabled());
  QVERIFY(input->problem().isEmpty());
}

/// In the window, to a screen reader and in the user guide by the same words.
void TestPlanPage::fieldsExplainThemselves() {
  QFile guide(qEnvironmentVariable("ATHANOR_SOURCE_DIR") + "/docs/user-guide.md");
  QVERIFY(guide.open(QIODevice::ReadOnly));
  const QString words = QString::fromUtf8(guide.readAll());
  WindowFixture fixture;
  for (const SpecField& spec : specFields()) {
    const NumberField* input = field(fixture.window(), spec.path);
    QVERIFY2(!spec.help.isEmpty(), qPrintable(spec.path));
    QCOMPARE(input->toolTip(), spec.help);
    QVERIFY2(input->accessibleDescription().contains(spec.help), qPrintable(spec.path));
    const QString row = QString("| %1 | %2 |").arg(spec.label, spec.help);
    QVERIFY2(words.contains(row), qPrintable(row));
  }
  for (const QComboBox* box : fixture.window().planPage()->form()->findChildren<QComboBox*>()) {
    const QString row = QString("| %1 | %2 |").arg(box->accessibleName(), box->toolTip());
    QVERIFY2(words.contains(row), qPrintable(row));
  }
}

void TestPlanPage::choicesSayWhatTheyChange() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  PlanForm* form = window.planPage()->form();
  form->setSpec(preset("small").spec);
  RunSpec coded = form->spec();
  coded.train.moments = Moments::eight_bit;
  const std::int64_t freed = estimate_run(form->spec()).plan.memory.peak_bytes -
                             estimate_run(coded).plan.memory.peak_bytes;
  auto* moments = form->findChild<QComboBox*>("train.moments");
  QTRY_VERIFY2(moments->itemText(1).contains(": \u2212" + formatBytes(freed)),
               qPrintable(moments->itemText(1)));
  // What is chosen now changes nothing, and what cannot be combined says nothing.
  QCOMPARE(moments->itemText(0), QString("FP32"));
  QVERIFY(!form->findChild<QComboBox*>("train.offload_master")->itemText(1).contains(':'));
  moments->setCurrentIndex(1);
  emit moments->activated(1);
  QTRY_VERIFY(moments->itemText(0).contains(": +" + formatBytes(freed)));
}

void TestPlanPage::momentsAreAChoice() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  PlanForm* form = window.planPage()->form();
  for (const Preset& preset : presets()) {
    form->setSpec(preset.spec);
    QVERIFY(form->spec().train.moments == Moments::f32);
  }
  form->setPreset(0);
  auto* box = form->findChild<QComboBox*>("train.moments");
  const QSignalSpy edits(form, &PlanForm::edited);
  box->setCurrentIndex(1);
  emit box->activated(1);
  QCOMPARE(edits.size(), 1);
  QVERIFY(form->spec().train.moments == Moments::eight_bit);
  const std::int64_t planned = estimate_run(form->spec()).plan.memory.peak_bytes;
  QTRY_COMPARE(window.planPage()->estimate()->findChild<MemoryBar*>()->planned_bytes(), planned);
  form->setTraining(TrainConfig());
  QCOMPARE(box->currentIndex(), 0);
}

void TestPlanPage::optimizerIsAChoice() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  PlanForm* form = window.planPage()->form();
  form->setPreset(0);
  QVERIFY(form->spec().train.optimizer == Optimizer::adamw);
  auto* box = form->findChild<QComboBox*>("train.optimizer");
  box->setCurrentIndex(1);
  emit box->activated(1);
  QVERIFY(form->spec().train.optimizer == Optimizer::muon);
  const std::int64_t planned = estimate_run(form->spec()).plan.memory.peak_bytes;
  QTRY_COMPARE(window.planPage()->estimate()->findChild<MemoryBar*>()->planned_bytes(), planned);
  form->setTraining(TrainConfig());
  QCOMPARE(box->currentIndex(), 0);
}

void TestPlanPage::refusalStandsAtItsField() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  QTRY_VERIFY(startButton(window)->isEnabled());
  window.planPage()->showRefusal("model.context of 1,024 tokens is longer than the text.");
  const auto* banner = window.planPage()->findChild<Banner*>();
  QCOMPARE(banner->content().text, QString("Context of 1,024 tokens is longer than the text."));
  NumberField* input = field(window, "model.context");
  QCOMPARE(input->problem(), banner->content().text);
  // Another estimate does not wipe it, and trying again is allowed.
  window.showPage(Page::data);
  window.showPage(Page::plan);
  QTest::qWait(200);
  QVERIFY(!input->problem().isEmpty());
  QTRY_VERIFY(startButton(window)->isEnabled());
  field(window, "train.steps")->setValue(50);
  QTRY_VERIFY(input->problem().isEmpty());
}

void TestPlanPage::unusableTextBlocksStart_data() {
  QTest::addColumn<QString>("kind");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("gone") << "gone"
                        << "%1 is not there any more. Choose another text.";
  QTest::newRow("empty") << "empty"
                         << "%1 is empty. Choose another text.";
  QTest::newRow("not allowed") << "locked"
                               << "You have no permission to read %1. Change its permissions, or "
                                  "choose another text.";
}

void TestPlanPage::unusableTextBlocksStart() {
  QFETCH(QString, kind);
  QFETCH(QString, sentence);
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  const QString path = fixture.textFile() + "." + kind;
  if (kind == "empty" || kind == "locked") {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    if (kind == "locked") file.write("text");
    file.close();
    if (kind == "locked") file.setPermissions(QFileDevice::WriteOwner);
    if (kind == "locked" && QFileInfo(path).isReadable()) QSKIP("root reads everything");
  }
  window.showPage(Page::plan);
  window.planPage()->useData(path);
  QTest::qWait(100);
  QVERIFY(!startButton(window)->isEnabled());
  const QList<QLabel*> labels = window.planPage()->form()->findChildren<QLabel*>();
  QVERIFY(std::any_of(labels.begin(), labels.end(),
                      [&](const QLabel* label) { return label->text() == sentence.arg(path); }));
  window.planPage()->useData(fixture.textFile());
  QTRY_VERIFY(startButton(window)->isEnabled());
  QCOMPARE(window.planPage()->form()->spec().sources.front().path,
           fixture.textFile().toStdString());
}

void TestPlanPage::barSumsToThePlan() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  PlanForm* form = window.planPage()->form();
  const auto* bar = window.planPage()->estimate()->findChild<MemoryBar*>();
  for (const Preset& preset : presets()) {
    if (preset.spec.model.width > 512) continue;
    form->setSpec(preset.spec);
    const RunEstimate estimate = estimate_run(form->spec());
    QTRY_COMPARE(bar->planned_bytes(), estimate.plan.memory.peak_bytes);
  }
}

void TestPlanPage::doesNotFitBlocksStart() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  RunSpec spec = presets().front().spec;
  spec.model.width = 16384;
  spec.model.heads = 128;
  spec.model.kv_heads = 128;
  spec.model.ffn = 65536;
  spec.model.layers = 48;
  window.planPage()->form()->setSpec(spec);
  const PlanEstimate* estimate = window.planPage()->estimate();
  QTRY_COMPARE_WITH_TIMEOUT(estimate->verdict(), PlanEstimate::Verdict::doesNotFit, 10'000);
  QVERIFY2(estimate->sentence().contains("GiB too much"), qPrintable(estimate->sentence()));
  QVERIFY(!startButton(window)->isEnabled());
  QVERIFY(startButton(window)->toolTip().contains("Does not fit"));
  window.planPage()->form()->setPreset(0);
  QTRY_VERIFY(startButton(window)->isEnabled());
  QVERIFY(estimate->verdict() != PlanEstimate::Verdict::doesNotFit);
}

void TestPlanPage::proposalMakesItFit() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  const RunSpec spec = tooLarge();
  window.planPage()->form()->setSpec(spec);
  PlanEstimate* estimate = window.planPage()->estimate();
  QTRY_COMPARE_WITH_TIMEOUT(estimate->verdict(), PlanEstimate::Verdict::doesNotFit, 10'000);
  QVERIFY(!startButton(window)->isEnabled());
  const auto cards = estimate->findChildren<ProposalCard*>();
  QCOMPARE(cards.size(), qsizetype{3});
  QTRY_VERIFY_WITH_TIMEOUT(cards.front()->isVisible(), 20'000);

  auto* apply = cards.front()->findChild<QPushButton*>();
  QCOMPARE(apply->text(), QString("Apply"));
  QTest::mouseClick(apply, Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(startButton(window)->isEnabled(), 10'000);
  QVERIFY(estimate->verdict() != PlanEstimate::Verdict::doesNotFit);
  const TrainConfig applied = window.planPage()->form()->spec().train;
  QCOMPARE(applied.micro_batch * applied.gradient_accumulation,
           spec.train.micro_batch * spec.train.gradient_accumulation);
  QCOMPARE(applied.steps, spec.train.steps);
  QTRY_COMPARE(apply->text(), QString("In use"));
}

void TestPlanPage::showsEveryBuffer() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  const RunSpec spec = window.planPage()->form()->spec();
  auto* course = window.planPage()->estimate()->findChild<PlanCourse*>();
  QTRY_VERIFY(startButton(window)->isEnabled());
  course->findChild<Segmented*>()->setCurrent(1);
  const auto* table = course->findChild<QTableView*>();
  QVERIFY(table->isVisible());
  const TrainPlan plan = plan_training(spec.model, spec.train, BackendTraits());
  QCOMPARE(table->model()->rowCount(), static_cast<int>(plan.buffers.size()));
  // Largest first; what is alive at the peak sums to it.
  qint64 before = std::numeric_limits<qint64>::max();
  qint64 sum = 0;
  for (int row = 0; row < table->model()->rowCount(); ++row) {
    const auto at = [&](int column) {
      return table->model()->index(row, column).data(BufferListModel::sortRole);
    };
    const qint64 size = at(BufferListModel::size).toLongLong();
    QVERIFY(size <= before);
    before = size;
    if (at(BufferListModel::atPeak).toBool()) sum += size;
  }
  QCOMPARE(sum, static_cast<qint64>(plan.memory.peak_bytes));
}

void TestPlanPage::rehearsalEqualsThePlan() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  window.planPage()->form()->setSpec(fixture.tinySpec(50));
  auto* rehearse = window.planPage()->findChild<QPushButton*>("rehearse");
  QTRY_VERIFY_WITH_TIMEOUT(rehearse->isEnabled(), 10'000);
  QTest::mouseClick(rehearse, Qt::LeftButton);
  const auto* banner = window.planPage()->findChild<Banner*>();
  QTRY_VERIFY_WITH_TIMEOUT(banner->isVisible(), 30'000);
  QCOMPARE(banner->content().kind, BannerKind::success);
  const TrainPlan plan =
      plan_training(fixture.tinySpec(50).model, fixture.tinySpec(50).train, BackendTraits());
  const QString bytes = formatBytes(plan.memory.peak_bytes);
  QVERIFY2(banner->content().title.contains(bytes + " planned, " + bytes + " taken"),
           qPrintable(banner->content().title));
  QVERIFY(banner->content().text.contains("tokens/s"));
  QVERIFY(startButton(window)->isEnabled());
}

void TestPlanPage::reserveIsKeptFree() {
  WindowFixture fixture;
  constexpr qint64 kReserve_bytes = qint64{3} << 30;
  fixture.window().showPage(Page::plan);
  QTRY_VERIFY(startButton(fixture.window())->isEnabled());
  fixture.window().planPage()->form()->setReserve(kReserve_bytes);
  const auto* bar = fixture.window().planPage()->estimate()->findChild<MemoryBar*>();
  QTRY_COMPARE(bar->data().reserve_bytes, kReserve_bytes);
  QCOMPARE(bar->left_bytes(), bar->data().free_bytes - kReserve_bytes - bar->planned_bytes());
  fixture.restart();
  QCOMPARE(fixture.window().planPage()->form()->reserve_bytes(), kReserve_bytes);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPlanPage)
#include "test_plan_page.moc"
