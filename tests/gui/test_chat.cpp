// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QtTest/QtTest>

#include "engine/base/error.h"
#include "gui/models/conversation_files.h"
#include "gui/pages/chat_page.h"
#include "gui/pages/chat_pane.h"
#include "gui/pages/example_dialog.h"
#include "gui/pages/prompt_menu.h"
#include "tests/gui/window_fixture.h"
#include "tests/support/expect_error.h"
#include "widgets/banner.h"
#include "widgets/conversation_view.h"
#include "widgets/segmented.h"
#include "widgets/token_text.h"

namespace athanor {
namespace {

using State = RunController::State;
constexpr int kPatience_ms = 60'000;

QByteArray content(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

/// Talking to a run's checkpoint in the window, with the real engine.
class TestChat : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void cleanupTestCase() { m_fixture.reset(); }
  void init();
  void tokensAreKeptWithTheirProbabilities();
  void answersEndAtTheGivenTexts();
  void twoModelsAnswerOneAfterTheOther();
  void speedIsMeasured();
  void promptsAreKept();
  void examplesAreAddedToADataSet();
  void conversationsBecomeFiles();

 private:
  ChatPage* page() { return m_fixture->window().chatPage(); }
  void ask(const QString& prompt);
  static bool answered(const ChatPane& pane);

  std::unique_ptr<WindowFixture> m_fixture;
};

void TestChat::initTestCase() {
  prepareApplication();
  m_fixture = std::make_unique<WindowFixture>();
  MainWindow& window = m_fixture->window();
  window.startRun(m_fixture->tinySpec(25));
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, kPatience_ms);
  window.showPage(Page::chat);
}

void TestChat::init() {
  page()->setComparing(false);
}

bool TestChat::answered(const ChatPane& pane) {
  const auto& exchanges = pane.conversation().exchanges();
  return !exchanges.isEmpty() && !pane.isBusy() && !exchanges.back().answers.isEmpty();
}

void TestChat::ask(const QString& prompt) {
  page()->ask(prompt);
  QTRY_VERIFY_WITH_TIMEOUT(answered(*page()->pane()), kPatience_ms);
}

void TestChat::tokensAreKeptWithTheirProbabilities() {
  ask("The old dog");
  const Answer answer = page()->conversation().exchanges().back().answers.back();
  QVERIFY(!answer.tokens.isEmpty());
  int position = 0;
  for (const TextToken& token : answer.tokens) {
    QVERIFY(token.begin >= position || token.begin == token.end);
    QVERIFY(token.end <= answer.text.size());
    QVERIFY(token.probability > 0 && token.probability <= 1);
    QCOMPARE(token.best.size(), 5);
    position = token.end;
  }
  QCOMPARE(position, answer.text.size());
  // They come back with the conversation.
  Conversation again(&m_fixture->window().store());
  again.load(*page()->conversation().id());
  const QVector<TextToken> kept = again.exchanges().back().answers.back().tokens;
  QCOMPARE(kept.size(), answer.tokens.size());
  QCOMPARE(kept.back().id, answer.tokens.back().id);
  QCOMPARE(kept.back().end, answer.tokens.back().end);
  QCOMPARE(kept.back().best.front().text, answer.tokens.back().best.front().text);
  // As tokens with their numbers; what is copied stays the text.
  auto* style = page()->findChild<Segmented*>("tokenStyle");
  style->setCurrent(2);
  auto* text = page()->view()->findChildren<TokenText*>().back();
  QVERIFY(text->content().contains(QString::number(answer.tokens.front().id)));
  QCOMPARE(page()->view()->text(1), answer.text);
  style->setCurrent(0);
  QCOMPARE(text->content(), answer.text);
}

void TestChat::answersEndAtTheGivenTexts() {
  ask("The old dog");
  const QString whole = page()->conversation().exchanges().back().answers.back().text;
  QVERIFY(whole.size() > 8);
  const QString stop = whole.mid(4, 3);
  auto* stops = page()->findChild<QPlainTextEdit*>("stopTexts");
  stops->setPlainText(stop);
  ask("The old dog");
  const Answer cut = page()->conversation().exchanges().back().answers.back();
  stops->clear();
  QCOMPARE(cut.text, whole.left(whole.indexOf(stop)));
  QVERIFY2(cut.note.contains("stop text"), qPrintable(cut.note));
}

void TestChat::twoModelsAnswerOneAfterTheOther() {
  page()->setComparing(true);
  QVERIFY(page()->secondPane()->isVisible());
  page()->ask("The old dog");
  QTRY_VERIFY_WITH_TIMEOUT(answered(*page()->pane()), kPatience_ms);
  QTRY_VERIFY_WITH_TIMEOUT(answered(*page()->secondPane()), kPatience_ms);
  // The same checkpoint with the same seed says the same.
  QCOMPARE(page()->secondPane()->conversation().exchanges().back().answers.back().text,
           page()->conversation().exchanges().back().answers.back().text);
  page()->setComparing(false);
  QVERIFY(!page()->secondPane()->isVisible());
}

void TestChat::speedIsMeasured() {
  auto* button = page()->findChild<QPushButton*>("speedTest");
  QVERIFY(button->isEnabled());
  QTest::mouseClick(button, Qt::LeftButton);
  QVERIFY(!button->isEnabled());
  const auto* banner = page()->findChild<Banner*>();
  QTRY_VERIFY_WITH_TIMEOUT(banner->content().title.contains("tokens/s"), kPatience_ms);
  QVERIFY2(banner->content().text.contains("to the first word"),
           qPrintable(banner->content().text));
  QVERIFY(button->isEnabled());
}

void TestChat::promptsAreKept() {
  auto* prompts = page()->findChild<PromptMenu*>();
  RunStore& store = m_fixture->window().store();
  prompts->setCurrent([] { return QString("Once upon a time"); });
  const auto action = [prompts](const QString& text) {
    emit prompts->menu()->aboutToShow();
    for (QAction* each : prompts->menu()->actions()) {
      if (each->text() == text) return each;
    }
    return static_cast<QAction*>(nullptr);
  };
  action("Keep this prompt")->trigger();
  action("Keep this prompt")->trigger();
  QCOMPARE(store.prompts(), std::vector<std::string>{"Once upon a time"});
  QSignalSpy chosen(prompts, &PromptMenu::chosen);
  action("Once upon a time")->trigger();
  QCOMPARE(chosen.size(), 1);
  QCOMPARE(chosen.front().front().toString(), QString("Once upon a time"));
  action("Forget")->menu()->actions().front()->trigger();
  QVERIFY(store.prompts().empty());
}

void TestChat::examplesAreAddedToADataSet() {
  const QTemporaryDir folder;
  const QString path = folder.filePath("made/examples.jsonl");
  for (int round = 0; round < 2; ++round) {
    ExampleDialog dialog(path.toStdString(), "Who are you?", "I am a dog.");
    dialog.findChild<QPlainTextEdit*>("exampleAnswer")->setPlainText("I am an old dog.\nYes.");
    QTest::mouseClick(dialog.findChild<QPushButton*>("exampleAdd"), Qt::LeftButton);
    QCOMPARE(dialog.result(), static_cast<int>(QDialog::Accepted));
  }
  const QList<QByteArray> lines = content(path).split('\n');
  QCOMPARE(lines.size(), 3);
  QCOMPARE(lines[0], lines[1]);
  const QJsonArray messages =
      QJsonDocument::fromJson(lines[0]).object().value("messages").toArray();
  QCOMPARE(messages.size(), 2);
  QCOMPARE(messages[0].toObject().value("role").toString(), QString("user"));
  QCOMPARE(messages[1].toObject().value("content").toString(), QString("I am an old dog.\nYes."));
  // A last line that was left open, and a place where nothing can be written.
  QFile open(path);
  QVERIFY(open.open(QIODevice::Append));
  open.write("{}");
  open.close();
  appendExample(path.toStdString(), "{\"x\":1}");
  QVERIFY(content(path).endsWith("{}\n{\"x\":1}\n"));
  ATHANOR_EXPECT_ERROR(appendExample(folder.path().toStdString(), "{}"), ErrorKind::io,
                       "could not be added");
  ExampleDialog incomplete(path.toStdString(), "Who are you?", "");
  QVERIFY(!incomplete.findChild<QPushButton*>("exampleAdd")->isEnabled());
}

void TestChat::conversationsBecomeFiles() {
  ask("The old dog");
  const Answer answer = page()->conversation().exchanges().back().answers.back();
  const QString markdown = markdownOf(page()->conversation(), "Tiny");
  QVERIFY(markdown.startsWith("# Tiny\n\n> The old dog\n\n" + answer.text));
  const QJsonArray messages = QJsonDocument::fromJson(messagesOf(page()->conversation()).toUtf8())
                                  .object()
                                  .value("messages")
                                  .toArray();
  QCOMPARE(messages.size(), 2);
  QCOMPARE(messages[1].toObject().value("content").toString(), answer.text);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestChat)
#include "test_chat.moc"
