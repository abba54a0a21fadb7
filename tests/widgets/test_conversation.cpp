// SPDX-License-Identifier: GPL-3.0-or-later
// The chat's parts: composer, conversation and the blocks of text in it.

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>

#include "widgets/composer.h"
#include "widgets/conversation_view.h"
#include "widgets/text_block.h"
#include "widgets/theme.h"
#include "widgets/token_text.h"

using namespace athanor;

namespace {

QPushButton* buttonNamed(const QWidget& parent, const QString& text) {
  for (QPushButton* button : parent.findChildren<QPushButton*>()) {
    if (button->text() == text && !button->isHidden()) return button;
  }
  return nullptr;
}

}  // namespace

class TestConversation : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() { applyTheme(*qApp, Appearance::dark); }

  void composerSendsAndStops() {
    Composer composer;
    composer.show();
    auto* input = composer.findChild<QPlainTextEdit*>();
    QSignalSpy sent(&composer, &Composer::sendRequested);
    QSignalSpy stopped(&composer, &Composer::stopRequested);
    QTest::keyClick(input, Qt::Key_Return);
    QTest::keyClicks(input, "  ");
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(sent.count(), 0);
    composer.setText("one");
    QTest::keyClick(input, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(input, "two");
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(sent.count(), 1);
    QCOMPARE(sent[0][0].toString(), QString("one\ntwo"));
    QCOMPARE(composer.text(), QString());
    composer.setBusy(true);
    composer.setText("next");
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(sent.count(), 1);
    QTest::mouseClick(buttonNamed(composer, "Stop"), Qt::LeftButton);
    QCOMPARE(stopped.count(), 1);
    QCOMPARE(composer.text(), QString("next"));
    composer.setBusy(false);
    composer.setBlocked("Choose a checkpoint first");
    QTest::keyClick(input, Qt::Key_Return);
    QCOMPARE(sent.count(), 1);
    QCOMPARE(buttonNamed(composer, "Send")->toolTip(), QString("Choose a checkpoint first"));
  }

  void conversationStreamsAndTruncates() {
    ConversationView view;
    view.resize(500, 400);
    view.show();
    QCOMPARE(view.addUser("Hello"), 0);
    const int answer = view.addAnswer();
    view.setStreaming(answer, true);
    for (const char* chunk : {"It ", "was\n", "a lamp"})
      view.appendText(answer, chunk);
    view.setStreaming(answer, false);
    QCOMPARE(view.text(answer), QString("It was\na lamp"));
    QSignalSpy regenerate(&view, &ConversationView::regenerateRequested);
    QSignalSpy branch(&view, &ConversationView::branchRequested);
    view.setBranch(answer, 2, 2);
    QTest::qWait(20);
    int visibleBack = 0;
    for (QToolButton* button : view.findChildren<QToolButton*>()) {
      if (button->accessibleName() == "Write the answer again" && button->isVisible()) {
        QTest::mouseClick(button, Qt::LeftButton);
      }
      if (button->accessibleName() == "Previous version" && button->isVisible()) {
        ++visibleBack;
        QTest::mouseClick(button, Qt::LeftButton);
      }
      if (button->accessibleName() == "Copy" && button->isVisible()) {
        QTest::mouseClick(button, Qt::LeftButton);
      }
    }
    QCOMPARE(regenerate.count(), 1);
    QCOMPARE(regenerate[0][0].toInt(), answer);
    QCOMPARE(visibleBack, 1);
    QCOMPARE(branch[0][1].toInt(), -1);
    QCOMPARE(QApplication::clipboard()->text(), QString("It was\na lamp"));
    view.truncate(1);
    QCOMPARE(view.turnCount(), 1);
    view.clear();
    QCOMPARE(view.turnCount(), 0);
  }

  void conversationStaysAtTheEnd() {
    ConversationView view;
    view.resize(400, 200);
    view.show();
    for (int i = 0; i < 12; ++i)
      view.addAnswer("A line of an answer that was given before.");
    QScrollBar* bar = view.verticalScrollBar();
    QTRY_VERIFY(bar->maximum() > 200);
    QTRY_COMPARE(bar->value(), bar->maximum());
    bar->setValue(0);
    const int before = bar->maximum();
    view.appendText(11, QString("more words ").repeated(80));
    QTRY_VERIFY(bar->maximum() > before);
    QCOMPARE(bar->value(), 0);
  }

  void bubblesStayWithinThreeQuarters() {
    ConversationView view;
    view.resize(600, 400);
    view.show();
    view.addUser("short");
    view.addUser(QString("many words ").repeated(40));
    const auto blocks = view.findChildren<TextBlock*>();
    QTRY_VERIFY(blocks[0]->width() < 100 && blocks[1]->height() >= 44);
    QVERIFY(blocks[1]->width() <= 600 * 3 / 4);
    QVERIFY(blocks[1]->height() >= 44);
    QCOMPARE(blocks[0]->height(), 22);
  }

  void textBlockGrowsWithItsWidth() {
    TextBlock block;
    block.setContent(QString("word ").repeated(60), 4);
    block.show();
    block.resize(600, 22);
    const int wide = block.height();
    block.resize(200, 22);
    QVERIFY(block.height() > wide);
    QCOMPARE(block.height() % 22, 0);
  }

  void tokensKnowTheirPlaces() {
    TokenText text;
    text.resize(400, 60);
    text.setContent("The old dog\nsat");
    const QVector<TextToken> tokens{{0, 3, 7, "The", 0.9, {}},
                                    {3, 7, 8, " old", 0.2, {{" old", 0.2}, {" big", 0.1}}},
                                    {7, 11, 9, " dog", 0.05, {}},
                                    {11, 12, 10, "\n", 0.5, {}},
                                    {12, 15, 11, "sat", 0.4, {}}};
    text.setTokens(tokens);
    text.show();
    QTextCursor cursor(text.document());
    const auto middleOf = [&](int begin, int end) {
      cursor.setPosition(begin);
      const QRect left = text.cursorRect(cursor);
      cursor.setPosition(end);
      return QPoint((left.left() + text.cursorRect(cursor).left()) / 2, left.center().y());
    };
    QCOMPARE(text.tokenAt(middleOf(0, 3)), 0);
    QCOMPARE(text.tokenAt(middleOf(3, 7)), 1);
    QCOMPARE(text.tokenAt(middleOf(7, 11)), 2);
    QCOMPARE(text.tokenAt(middleOf(12, 15)), 4);
    text.setStyle(TokenStyle::probabilities);
    QCOMPARE(text.content(), QString("The old dog\nsat"));
    cursor.setPosition(1);
    QVERIFY(cursor.charFormat().background().style() == Qt::NoBrush);
    cursor.setPosition(5);
    QVERIFY(cursor.charFormat().background().style() != Qt::NoBrush);
    text.setStyle(TokenStyle::ids);
    QVERIFY(text.content().contains("8"));
    QCOMPARE(text.plainContent(), QString("The old dog\nsat"));
    text.setStyle(TokenStyle::plain);
    QCOMPARE(text.content(), QString("The old dog\nsat"));
  }

  void tintsAreReadable() {
    for (const Appearance appearance : {Appearance::light, Appearance::dark}) {
      const Theme& colours = themeFor(appearance);
      for (const double probability : {0.9, 0.5, 0.2, 0.01}) {
        const QColor ground = mixed(colours.accent, colours.surface, tokenTint(probability));
        QVERIFY(contrastRatio(colours.text, ground) >= 4.5);
      }
    }
  }
};

QTEST_MAIN(TestConversation)
#include "test_conversation.moc"
