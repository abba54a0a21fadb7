// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QtTest/QtTest>

#include "engine/exchange/foreign_model.h"
#include "gui/app/transfer_bar.h"
#include "gui/app/transfer_desk.h"
#include "gui/models/run_status.h"
#include "gui/pages/chat_page.h"
#include "gui/pages/export_dialog.h"
#include "gui/pages/run_details.h"
#include "gui/pages/runs_page.h"
#include "tests/engine/exchange/sample_models.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/conversation_view.h"
#include "widgets/format.h"
#include "widgets/segmented.h"

namespace athanor {
namespace fs = std::filesystem;

/// Models that come from other programs and go to them, and runs of another machine, as a person
/// does it in the window.
class TestTransfers : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void aDroppedModelIsImportedAndTalkedTo();
  void whatIsNoModelIsExplained();
  void oneThingIsTakenAtATime();
  void aModelIsExported_data();
  void aModelIsExported();
  void theDialogSaysWhatCannotBeWritten();
  void aRunsFolderIsTakenOver();
  void closingGivesUpWhatIsUnderWay();
};

namespace {

constexpr int kPatience_ms = 20'000;

/// A window and a model of another program beside it.
class Place {
 public:
  Place() { write_sample(model().toStdString(), sample_model("llama").config); }

  MainWindow& window() { return m_fixture.window(); }
  WindowFixture& fixture() { return m_fixture; }
  QString path(const char* name) const { return m_folder.filePath(name); }
  QString model() const { return path("smol"); }
  RunsPage& runs() { return *window().runsPage(); }

  Banner* notice() {
    for (auto* banner : window().findChildren<Banner*>())
      if (banner->isVisible()) return banner;
    return nullptr;
  }
  /// What was said last, waiting for it.
  BannerContent told() {
    if (!QTest::qWaitFor([this] { return !busy() && notice() != nullptr; }, kPatience_ms))
      return {};
    return notice()->content();
  }
  bool busy() { return window().transfers().transfers()->busy(); }

  void import() {
    window().transfers().bring(model());
    QVERIFY(QTest::qWaitFor([this] { return !busy(); }, kPatience_ms));
  }

 private:
  WindowFixture m_fixture;
  QTemporaryDir m_folder;
};

ModelConfig modelOf(const Place& place) {
  return open_foreign_model(place.model().toStdString(), {}).settings.model;
}

ExportDialog* openExport(Place& place) {
  place.window().showPage(Page::runs);
  place.runs().findChild<RunDetails*>()->findChild<QPushButton*>("export")->click();
  return place.window().findChild<ExportDialog*>();
}

}  // namespace

void TestTransfers::aDroppedModelIsImportedAndTalkedTo() {
  Place place;
  place.window().showPage(Page::chat);
  drop(place.window().chatPage(), {place.model()});
  QVERIFY(place.busy() && place.window().findChild<TransferBar*>()->isVisible());
  const BannerContent told = place.told();
  QCOMPARE(told.title, QString("smol was imported"));
  QVERIFY2(told.text.startsWith("A llama model of "), qPrintable(told.text));
  QVERIFY(!place.window().findChild<TransferBar*>()->isVisible());
  QCOMPARE(place.runs().model()->rowCount(), 1);

  ChatPage* chat = place.window().chatPage();
  chat->ask("hello");
  QVERIFY(QTest::qWaitFor(
      [chat] { return !chat->conversation().exchanges().back().answers.isEmpty(); }, kPatience_ms));
  QVERIFY(!chat->view()->text(1).isEmpty());

  place.window().showPage(Page::runs);
  QCOMPARE(importedFrom(*place.runs().chosen()), place.model());
  const QModelIndex step = place.runs().model()->index(0, RunListModel::step);
  QCOMPARE(step.data().toString(), QString::fromUtf8("–"));
}

void TestTransfers::whatIsNoModelIsExplained() {
  Place place;
  place.window().showPage(Page::runs);
  const QString text = place.fixture().textFile();
  drop(place.window().runsPage(), {text});
  const BannerContent told = place.told();
  QCOMPARE(told.title, QString("The model was not imported"));
  QVERIFY2(told.text.contains("sentences.txt"), qPrintable(told.text));
  QVERIFY(told.kind == BannerKind::danger);
  QCOMPARE(place.runs().model()->rowCount(), 0);
  drop(place.window().runsPage(), {text, place.model()});
  QCOMPARE(place.told().title, QString("One thing at a time"));
}

void TestTransfers::oneThingIsTakenAtATime() {
  Place place;
  place.window().transfers().bring(place.model());
  place.window().transfers().bring(place.model());
  QVERIFY(place.notice()->content().text.startsWith("Importing smol is not done yet."));
  QVERIFY(QTest::qWaitFor([&] { return !place.busy(); }, kPatience_ms));
  QCOMPARE(place.window().store().runs().size(), std::size_t{1});
  // The button of the bar stops it, and nothing is left.
  place.window().transfers().bring(place.model());
  place.window().findChild<TransferBar*>()->findChild<QPushButton*>("cancel")->click();
  QVERIFY(QTest::qWaitFor([&] { return !place.busy(); }, kPatience_ms));
  const auto runs = place.window().store().runs().size();
  QCOMPARE(std::distance(fs::directory_iterator(place.fixture().home() / "runs"), {}),
           static_cast<std::ptrdiff_t>(runs));
}

void TestTransfers::aModelIsExported_data() {
  QTest::addColumn<int>("kind");
  QTest::addColumn<QString>("numbers");
  QTest::addColumn<QString>("file");
  QTest::newRow("Hugging Face") << 0 << "F32, as saved"
                                << "model.safetensors";
  QTest::newRow("GGUF") << 1 << "Q8_0"
                        << "smol-q8_0.gguf";
}

void TestTransfers::aModelIsExported() {
  QFETCH(int, kind);
  QFETCH(QString, numbers);
  QFETCH(QString, file);
  Place place;
  place.import();
  ExportDialog* dialog = openExport(place);
  QVERIFY(dialog != nullptr && dialog->isVisible());
  dialog->findChild<Segmented*>()->setCurrent(kind);
  auto* types = dialog->findChild<QComboBox*>("numbers");
  const int row = types->findText(numbers, Qt::MatchStartsWith);
  QVERIFY2(row >= 0, qPrintable(types->itemText(0)));
  types->setCurrentIndex(row);
  const qint64 shown_bytes = exported_bytes(
      modelOf(place), {.kind = kind == 0 ? FileKind::hugging_face : FileKind::gguf,
                       .type = static_cast<NumberFormat>(types->currentData().toInt())});
  QVERIFY(types->currentText().endsWith(formatBytes(shown_bytes)));
  const QString folder = place.path("made");
  auto* where = dialog->findChild<QLineEdit*>("folder");
  where->selectAll();
  QTest::keyClicks(where, folder);
  dialog->findChild<QPushButton*>("export")->click();
  const BannerContent told = place.told();
  QCOMPARE(told.title, QString("Step 0 was exported"));
  QVERIFY2(told.text.contains(folder), qPrintable(told.text));
  QCOMPARE(told.text.contains("ollama create made -f"), kind == 1);
  QCOMPARE(told.actions.size(), 1);
  const fs::path written = folder.toStdString();
  QVERIFY(fs::exists(written / file.toStdString()));
  const auto bytes = static_cast<qint64>(fs::file_size(written / file.toStdString()));
  QVERIFY(bytes > shown_bytes);
  // It is read again, with the weights that went out.
  const ForeignModel again = open_foreign_model(written, {});
  QCOMPARE(again.settings.model.layers, modelOf(place).layers);
  QVERIFY(!place.window().settings().exportFolder().isEmpty());
}

void TestTransfers::theDialogSaysWhatCannotBeWritten() {
  Place place;
  place.import();
  RunRecord run = *place.window().store().run(1);
  std::vector<CheckpointRow> checkpoints = place.window().store().checkpoints(1);
  RunSpec spec = presets().front().spec;
  spec.model.activation = Activation::gelu;
  run.spec = run_spec_to_json(spec).dump();
  ExportDialog dialog(run, checkpoints, place.path(""));
  auto* button = dialog.findChild<QPushButton*>("export");
  dialog.findChild<Segmented*>()->setCurrent(1);
  QVERIFY(!button->isEnabled());
  dialog.findChild<Segmented*>()->setCurrent(0);
  QVERIFY(button->isEnabled());
  auto* where = dialog.findChild<QLineEdit*>("folder");
  for (const QString& refused : {QString(), QString("model"), place.model(), place.path("a/b")}) {
    where->setText(refused);
    emit where->textEdited(refused);
    QVERIFY2(!button->isEnabled(), qPrintable(refused));
  }
  // A proposed name is free.
  fs::create_directories(place.path("smol-hf").toStdString());
  ExportDialog another(run, checkpoints, place.path(""));
  QVERIFY(another.findChild<QLineEdit*>("folder")->text().endsWith("smol-hf-2"));
}

void TestTransfers::aRunsFolderIsTakenOver() {
  Place elsewhere;
  elsewhere.import();
  const QString folder = QString::fromStdString(elsewhere.window().store().run_folder(1).string());
  Place place;
  place.window().showPage(Page::firstRun);
  place.window().transfers().bring(folder);
  QCOMPARE(place.told().title, QString("The run was taken over"));
  QVERIFY(place.window().page() == Page::runs);
  QCOMPARE(place.runs().chosen()->name, std::string("smol"));
}

void TestTransfers::closingGivesUpWhatIsUnderWay() {
  Place place;
  place.window().transfers().bring(place.model());
  place.fixture().restart();
  for (const auto& entry : fs::directory_iterator(place.fixture().home() / "runs"))
    QVERIFY(entry.path().filename().string().find("partial") == std::string::npos);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestTransfers)
#include "test_transfers.moc"
