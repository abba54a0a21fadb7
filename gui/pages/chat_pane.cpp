// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/chat_pane.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/pages/model_picker.h"
#include "gui/pages/story_starts.h"
#include "gui/run/attempt.h"
#include "widgets/conversation_view.h"
#include "widgets/empty_state.h"
#include "widgets/format.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

/// `context` is the number of tokens that the model sees at once.
QString endWord(Generation::End end, std::int64_t context) {
  switch (end) {
    case Generation::End::end_of_text:
      return ChatPane::tr("the text ended");
    case Generation::End::stop_text:
      return ChatPane::tr("stopped at a stop text");
    case Generation::End::length:
      return ChatPane::tr("stopped at the length");
    case Generation::End::context_full:
      return ChatPane::tr("stopped: this model sees %1 tokens at once")
          .arg(formatThousands(context));
    case Generation::End::cancelled:
      return ChatPane::tr("stopped by hand");
  }
  return {};
}

QString noteOf(const Generation& answer, std::int64_t context) {
  QString note = ChatPane::tr("%1 tokens · %2 to the first token · %3 tokens/s · %4")
                     .arg(formatThousands(answer.tokens), formatDuration(answer.prompt_seconds),
                          formatThousands(static_cast<std::int64_t>(answer.tokens_per_second())),
                          endWord(answer.end, context));
  if (answer.dropped_prompt_tokens > 0) {
    note += ChatPane::tr(" · the first %1 tokens of the prompt did not fit")
                .arg(formatThousands(answer.dropped_prompt_tokens));
  }
  if (answer.slid_tokens > 0) {
    note +=
        ChatPane::tr(" · the oldest %1 tokens made room").arg(formatThousands(answer.slid_tokens));
  }
  return note;
}

/// Turns alternate: the prompt of an exchange, then its answer.
int answerTurn(int exchange) {
  return 2 * exchange + 1;
}

}  // namespace

ChatPane::ChatPane(RunStore* store, ChatController* chat, QWidget* parent)
    : Card(QString(), parent),
      m_store(store),
      m_chat(chat),
      m_conversation(store),
      m_letter(makeLabel({}, FontRole::emphasis)),
      m_picker(new ModelPicker(store)),
      m_stack(new QStackedWidget),
      m_noModel(new EmptyState("chat", tr("No model to talk to yet"), tr("Train the demo model"))),
      m_starts(new StoryStarts),
      m_view(new ConversationView) {
  m_letter->hide();
  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  row->addWidget(m_letter);
  row->addWidget(m_picker, 1);
  content()->addLayout(row);
  for (QWidget* page : std::initializer_list<QWidget*>{m_noModel, m_starts, m_view})
    m_stack->addWidget(page);
  // The card is its background.
  m_stack->setStyleSheet("QStackedWidget { background: transparent; }");
  content()->addWidget(m_stack, 1);
  connectParts();
}

void ChatPane::connectParts() {
  connect(m_starts, &StoryStarts::chosen, this, &ChatPane::chosen);
  connect(m_picker, &ModelPicker::changed, this, [this] {
    startNew();
    emit modelChanged();
  });
  connect(m_view, &ConversationView::regenerateRequested, this, [this](int turn) {
    if (!isBusy() && m_picker->runId()) emit regenerateRequested(turn / 2);
  });
  connect(m_view, &ConversationView::editRequested, this,
          [this](int turn) { emit editRequested(m_conversation.exchanges()[turn / 2].prompt); });
  connect(m_view, &ConversationView::exampleRequested, this, [this](int turn) {
    emit exampleRequested(m_conversation.exchanges()[turn / 2].prompt, m_view->text(turn));
  });
  connect(m_view, &ConversationView::branchRequested, this, [this](int turn, int direction) {
    const int exchange = turn / 2;
    m_conversation.show(exchange, m_conversation.exchanges()[exchange].shown + direction);
    showBranch(exchange);
  });
  connect(m_chat, &ChatController::loaded, this, &ChatPane::loaded);
  connect(m_chat, &ChatController::piece, this, &ChatPane::takePiece);
  connect(m_chat, &ChatController::finished, this, &ChatPane::takeAnswer);
  connect(m_chat, &ChatController::measured, this, &ChatPane::measured);
  connect(m_chat, &ChatController::failed, this, &ChatPane::takeFailure);
}

void ChatPane::setLetter(const QString& letter) {
  m_letter->setText(letter);
  m_letter->setHidden(letter.isEmpty());
}

QString ChatPane::modelName() const {
  if (!m_picker->runId()) return {};
  const std::optional<RunRecord> run = m_store->run(*m_picker->runId());
  QString name = run ? QString::fromStdString(run->name) : QString();
  if (m_picker->step()) name += tr(" · step %1").arg(formatThousands(*m_picker->step()));
  return name;
}

void ChatPane::refresh() {
  const QString failure = m_picker->refresh();
  if (!failure.isEmpty()) emit problem(tr("The runs could not be read"), failure);
  updateStack();
}

void ChatPane::startNew() {
  m_chat->drop();
  m_answering = -1;
  m_usedTokens = 0;
  m_conversation.clear();
  m_view->clear();
  updateStack();
}

void ChatPane::open(qint64 conversationId) {
  startNew();
  const QString failure = attempt([&] { m_conversation.load(conversationId); });
  if (!failure.isEmpty()) emit problem(tr("The conversation could not be read"), failure);
  showExchanges();
}

void ChatPane::showExchanges() {
  for (const Exchange& exchange : m_conversation.exchanges()) {
    m_view->addUser(exchange.prompt);
    m_view->addAnswer();
    showBranch(m_view->turnCount() / 2 - 1);
  }
  updateStack();
}

void ChatPane::updateStack() {
  QWidget* page = m_view;
  if (m_view->turnCount() == 0)
    page = m_picker->isEmpty() ? static_cast<QWidget*>(m_noModel) : m_starts;
  m_stack->setCurrentWidget(page);
  m_picker->setHidden(m_picker->isEmpty());
}

bool ChatPane::add(const QString& prompt) {
  if (isBusy() || !m_picker->runId()) return false;
  const QString failure = attempt(
      [&] { m_conversation.addPrompt(prompt, *m_picker->runId(), m_picker->step().value_or(0)); });
  if (!failure.isEmpty()) {
    emit problem(tr("The conversation cannot be kept"), failure);
    return false;
  }
  m_view->addUser(prompt);
  m_view->addAnswer();
  updateStack();
  return true;
}

Dialogue ChatPane::said(int exchange, const QString& system) const {
  Dialogue said;
  const auto say = [&said](Role role, const QString& text) {
    said.messages.push_back({.role = role, .text = text.toStdString(), .input = {}});
  };
  if (!system.trimmed().isEmpty()) say(Role::system, system);
  for (int i = 0; i < exchange; ++i) {
    const Exchange& earlier = m_conversation.exchanges()[i];
    // A prompt without an answer was stopped at once or failed.
    if (earlier.answers.isEmpty() || earlier.answers[earlier.shown].text.isEmpty()) continue;
    say(Role::user, earlier.prompt);
    say(Role::assistant, earlier.answers[earlier.shown].text);
  }
  say(Role::user, m_conversation.exchanges()[exchange].prompt);
  return said;
}

ChatRequest ChatPane::request(const ChatManner& manner) const {
  return {.runFolder = m_store->run_folder(*m_picker->runId()),
          .step = m_picker->step(),
          .dialogue = {},
          .sampling = manner.sampling,
          .weights = manner.weights,
          .backend = {},
          .cancel = {}};
}

void ChatPane::answerLast(const ChatManner& manner) {
  answer(static_cast<int>(m_conversation.exchanges().size()) - 1, manner);
}

void ChatPane::answer(int exchange, const ChatManner& manner) {
  m_answering = exchange;
  const int turn = answerTurn(exchange);
  m_view->setText(turn, {});
  m_view->setNote(turn, {});
  m_view->setStreaming(turn, true);
  m_answeringIn = manner.weightsName;
  ChatRequest asked = request(manner);
  asked.dialogue = said(exchange, manner.system);
  m_chat->ask(std::move(asked));
}

void ChatPane::measureSpeed(const ChatManner& manner) {
  m_chat->measure(request(manner));
}

void ChatPane::stop() {
  m_chat->stop();
}

void ChatPane::takePiece(const QString& text) {
  if (m_answering < 0) return;
  const int turn = answerTurn(m_answering);
  // The space between prompt and answer is the bubble's edge here.
  const bool first = m_view->text(turn).isEmpty();
  const auto word = std::find_if(text.begin(), text.end(), [](QChar c) { return !c.isSpace(); });
  m_view->appendText(turn, first ? text.mid(word - text.begin()) : text);
}

void ChatPane::takeAnswer(const FinishedAnswer& answer) {
  if (m_answering < 0) return;
  m_usedTokens = std::min(answer.made.prompt_tokens + answer.made.tokens, m_picker->context());
  const QString note = noteOf(answer.made, m_picker->context());
  const qsizetype unseen = QString::fromStdString(answer.made.text).size() -
                           m_view->text(answerTurn(m_answering)).size();
  endAnswer(m_answeringIn.isEmpty() ? note : note + tr(" · weights in %1").arg(m_answeringIn),
            withoutStart(answer.tokens, std::max<qsizetype>(0, unseen)));
}

void ChatPane::takeFailure(const QString& reason) {
  if (isBusy()) endAnswer(tr("no answer"), {});
  emit problem(tr("The model could not answer"), reason);
}

void ChatPane::endAnswer(const QString& note, const QVector<TextToken>& tokens) {
  const int exchange = std::exchange(m_answering, -1);
  const int turn = answerTurn(exchange);
  m_view->setStreaming(turn, false);
  const Answer answer{m_view->text(turn), note, tokens};
  const QString failure = attempt([&] { m_conversation.addAnswer(exchange, answer); });
  if (!failure.isEmpty()) emit problem(tr("The answer was not kept"), failure);
  showBranch(exchange);
  emit answered();
}

void ChatPane::showBranch(int exchange) {
  const Exchange& asked = m_conversation.exchanges()[exchange];
  const int turn = answerTurn(exchange);
  if (asked.answers.isEmpty()) return;
  const Answer& answer = asked.answers[asked.shown];
  m_view->setText(turn, answer.text);
  m_view->setTokens(turn, answer.tokens);
  m_view->setNote(turn, answer.note);
  m_view->setBranch(turn, asked.shown + 1, static_cast<int>(asked.answers.size()));
}

}  // namespace athanor
