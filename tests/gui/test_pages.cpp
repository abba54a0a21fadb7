// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAbstractButton>
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProcess>
#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QTableWidget>
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "gui/pages/machine_card.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/run_news.h"
#include "gui/pages/runs_page.h"
#include "gui/pages/sampling_panel.h"
#include "gui/pages/settings_page.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/memory_bar.h"
#include "widgets/segmented.h"

namespace athanor {

class TestPages : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void newsOfARun_data();
  void newsOfARun();
  void renames();
  void tagsNotesAndTheFilter();
  void severalRunsAreComparedAndOneIsCloned();
  void deletesAndUndoes();
  void settingsApplyAndStay();
  void machineCardWarns();
  void lengthIsWithinTheContext();
  void everyInputHasAName();
  void programSaysThatItHasNoHome();
};

namespace {

std::int64_t addRun(MainWindow& window, const std::string& name) {
  RunRecord record;
  record.name = name;
  record.status = RunStatus::finished;
  record.steps = 10;
  record.spec = run_spec_to_json(RunSpec{}).dump();
  const std::int64_t id = window.store().create_run(record);
  std::filesystem::create_directories(window.store().run_folder(id) / "checkpoints");
  return id;
}

}  // namespace

void TestPages::newsOfARun_data() {
  QTest::addColumn<RunStatus>("status");
  QTest::addColumn<QString>("problem");
  QTest::addColumn<int>("newest");
  QTest::addColumn<QString>("title");
  QTest::addColumn<QString>("text");
  QTest::newRow("disk full") << RunStatus::paused << "The disk is full." << 600
                             << "Paused at step 700: it could not be saved"
                             << "The disk is full. The checkpoint of step 600 is complete: 100 "
                                "steps are repeated.";
  QTest::newRow("no number") << RunStatus::paused << "The loss was no longer a number." << 699
                             << "Paused at step 700: the loss is no longer a number"
                             << "The loss was no longer a number.";
  QTest::newRow("failed") << RunStatus::failed << "It broke." << 699 << "Failed at step 700"
                          << "It broke. The checkpoint of step 699 is complete: one step is "
                             "repeated.";
  QTest::newRow("interrupted") << RunStatus::interrupted << "" << 700 << "Interrupted at step 700"
                               << "Athanor or the machine stopped while this run was training. "
                                  "The checkpoint of step 700 is complete: nothing is lost.";
}

void TestPages::newsOfARun() {
  QFETCH(RunStatus, status);
  QFETCH(QString, problem);
  QFETCH(int, newest);
  QFETCH(QString, title);
  QFETCH(QString, text);
  RunRecord record;
  record.status = status;
  record.step = 700;
  record.steps = 1000;
  record.problem = problem.toStdString();
  const auto news = runNews(record, saysNonFinite(record), newest);
  QVERIFY(news.has_value());
  QCOMPARE(news->title, title);
  QCOMPARE(news->text, text);
}

void TestPages::renames() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  const std::int64_t id = addRun(window, "First");
  addRun(window, "Second");
  window.showPage(Page::runs);
  RunListModel* model = window.runsPage()->model();
  QCOMPARE(model->rowCount(), 2);
  const QModelIndex cell = model->index(model->rowOf(id), RunListModel::name);
  QVERIFY(model->setData(cell, "  Renamed ", Qt::EditRole));
  QCOMPARE(window.store().run(id)->name, std::string("Renamed"));
  QCOMPARE(model->index(model->rowOf(id), RunListModel::name).data().toString(),
           QString("Renamed"));
  QVERIFY(!model->setData(cell, "   ", Qt::EditRole));
}

void TestPages::tagsNotesAndTheFilter() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  const std::int64_t first = addRun(window, "First");
  const std::int64_t second = addRun(window, "Second");
  window.showPage(Page::runs);
  RunsPage* page = window.runsPage();
  RunListModel* model = page->model();
  QVERIFY(model->setData(model->index(model->rowOf(second), RunListModel::tags), "wide, keep",
                         Qt::EditRole));
  page->choose(first);
  auto* notes = page->findChild<QPlainTextEdit*>();
  QTest::keyClicks(notes, "Best so far");
  // Another run is chosen before the pause that keeps them.
  page->choose(second);
  QCOMPARE(window.store().run(first)->notes, std::string("Best so far"));
  QCOMPARE(window.store().run(second)->tags, std::string("wide, keep"));
  QVERIFY(notes->toPlainText().isEmpty());
  auto* filter = page->findChild<QLineEdit*>();
  const auto shown = [&] { return page->table()->model()->rowCount(); };
  filter->setText("wide");
  QCOMPARE(shown(), 1);
  filter->setText("so far");
  QCOMPARE(shown(), 1);
  QCOMPARE(page->table()->model()->index(0, 0).data(RunListModel::idRole).toLongLong(), first);
  filter->clear();
  QCOMPARE(shown(), 2);
}

void TestPages::severalRunsAreComparedAndOneIsCloned() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  RunSpec spec = presets().front().spec;
  RunRecord record{.name = "Slow", .status = RunStatus::finished, .created_ms = 1};
  record.spec = run_spec_to_json(spec).dump();
  window.store().create_run(record);
  spec.train.learning_rate *= 3;
  spec.model.width *= 2;
  record.name = "Fast";
  record.best_validation_loss = 1.5;
  record.spec = run_spec_to_json(spec).dump();
  const std::int64_t fast = window.store().create_run(record);
  window.showPage(Page::runs);
  RunsPage* page = window.runsPage();
  page->table()->selectAll();
  auto* diff = page->findChild<QTableWidget*>();
  QTRY_VERIFY(diff->isVisible());
  QStringList rows;
  for (int row = 0; row < diff->rowCount(); ++row)
    rows.push_back(diff->item(row, 0)->text());
  QCOMPARE(rows, (QStringList{"Best validation", "Width", "Learning rate"}));
  page->choose(fast);
  QTRY_VERIFY(!diff->isVisible());
  QTest::mouseClick(page->findChild<QPushButton*>("clone"), Qt::LeftButton);
  QCOMPARE(window.page(), Page::plan);
  const auto* rate = window.planPage()->findChild<PlanForm*>();
  QCOMPARE(rate->spec().train.learning_rate, spec.train.learning_rate);
  QCOMPARE(rate->spec().model.width, spec.model.width);
  QCOMPARE(rate->spec().name, std::string("Fast again"));
}

void TestPages::deletesAndUndoes() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  const std::int64_t kept = addRun(window, "Kept");
  const std::int64_t gone = addRun(window, "Gone");
  const std::filesystem::path folder = window.store().run_folder(gone);
  window.showPage(Page::runs);
  RunsPage* page = window.runsPage();
  page->choose(gone);
  QVERIFY(page->chosen().has_value());
  page->deleteChosen();
  QCOMPARE(page->model()->rowCount(), 1);
  QVERIFY2(window.store().run(gone).has_value(), "it can still be undone");
  auto* undo = window.findChild<QPushButton*>("undoDelete");
  QTRY_VERIFY(undo->isVisible());
  QTest::mouseClick(undo, Qt::LeftButton);
  QCOMPARE(page->model()->rowCount(), 2);
  QVERIFY(!undo->isVisible());

  page->choose(gone);
  page->deleteChosen();
  QVERIFY(window.close());
  QVERIFY(!window.store().run(gone).has_value());
  QVERIFY(window.store().run(kept).has_value());
  QTRY_VERIFY(!std::filesystem::exists(folder));
}

void TestPages::settingsApplyAndStay() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::settings);
  auto* page = window.findChild<SettingsPage*>();
  auto* appearance = page->findChild<Segmented*>();
  appearance->setCurrent(static_cast<int>(AppearanceChoice::dark));
  QCOMPARE(theme().appearance, Appearance::dark);
  page->findChild<NumberField*>()->setValue(2);
  const AppSettings read(fixture.home());
  QCOMPARE(read.appearance(), AppearanceChoice::dark);
  QCOMPARE(read.threads(), 2);
  appearance->setCurrent(static_cast<int>(AppearanceChoice::light));
  QCOMPARE(theme().appearance, Appearance::light);
}

void TestPages::machineCardWarns() {
  WindowFixture fixture;
  auto* card = fixture.window().findChild<MachineCard*>();
  const auto says = [card](const QString& part) {
    const QList<QLabel*> labels = card->findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(),
                       [&part](const QLabel* label) { return label->text().contains(part); });
  };
  constexpr std::int64_t kMiB = 1 << 20;
  MachineFindings findings{.processor = "A processor",
                           .threads = 2,
                           .total_memory_bytes = 8192 * kMiB,
                           .free_memory_bytes = 4096 * kMiB,
                           .free_disk_bytes = 4096 * kMiB};
  card->showFindings(findings);
  QVERIFY(!says("free some space") && !says("close other programs"));
  findings.free_disk_bytes = 20 * kMiB;
  findings.free_memory_bytes = 50 * kMiB;
  card->showFindings(findings);
  QVERIFY(says("free some space") && says("close other programs"));
}

void TestPages::lengthIsWithinTheContext() {
  SamplingPanel panel;
  QCOMPARE(panel.options().max_tokens, std::int64_t{256});
  panel.setContext(128);
  QCOMPARE(panel.options().max_tokens, std::int64_t{128});
  // What was asked for comes back with a model that can write it.
  panel.setContext(1024);
  QCOMPARE(panel.options().max_tokens, std::int64_t{256});
}

void TestPages::everyInputHasAName() {
  WindowFixture fixture;
  for (const QWidget* widget : fixture.window().findChildren<QWidget*>()) {
    const bool input = qobject_cast<const QAbstractButton*>(widget) != nullptr ||
                       qobject_cast<const QComboBox*>(widget) != nullptr ||
                       qobject_cast<const QLineEdit*>(widget) != nullptr ||
                       qobject_cast<const QSlider*>(widget) != nullptr ||
                       qobject_cast<const QTableView*>(widget) != nullptr;
    // A button that is hidden has nothing to say yet.
    if (!input || widget->isHidden() || widget->objectName().startsWith("qt_")) continue;
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    const bool named =
        !widget->accessibleName().isEmpty() || (button != nullptr && !button->text().isEmpty());
    QVERIFY2(named || !(widget->focusPolicy() & Qt::TabFocus),
             qPrintable(QString("%1 in %2")
                            .arg(widget->metaObject()->className(),
                                 widget->parentWidget()->metaObject()->className())));
  }
}

void TestPages::programSaysThatItHasNoHome() {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"HOME", "XDG_DATA_HOME", "ATHANOR_HOME"})
    environment.remove(name);
  QProcess program;
  program.setProcessEnvironment(environment);
  program.start(ATHANOR, {});
  QVERIFY(program.waitForFinished(30'000));
  QCOMPARE(program.exitStatus(), QProcess::NormalExit);
  QCOMPARE(program.exitCode(), 2);
  const QByteArray said = program.readAllStandardError();
  QVERIFY2(said.contains("Set HOME, or name a folder with --home."), said.constData());
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPages)
#include "test_pages.moc"
