// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/chat_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "gui/models/run_status.h"
#include "gui/pages/model_picker.h"
#include "gui/pages/page_header.h"
#include "gui/pages/sampling_panel.h"
#include "gui/pages/story_starts.h"
#include "gui/pages/weights_panel.h"
#include "gui/run/attempt.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/composer.h"
#include "widgets/conversation_view.h"
#include "widgets/empty_state.h"
#include "widgets/format.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr int kSide_px = 240;

/// `context` is the number of tokens that the model sees at once.
QString endWord(Generation::End end, std::int64_t context) {
  switch (end) {
    case Generation::End::end_of_text:
      return ChatPage::tr("the text ended");
    case Generation::End::stop_text:
      return ChatPage::tr("stopped at a stop text");
    case Generation::End::length:
      return ChatPage::tr("stopped at the length");
    case Generation::End::context_full:
      return ChatPage::tr("stopped: this model sees %1 tokens at once")
          .arg(formatThousands(context));
    case Generation::End::cancelled:
      return ChatPage::tr("stopped by hand");
  }
  return {};
}

QString noteOf(const Generation& answer, std::int64_t context) {
  QString note = ChatPage::tr("%1 tokens · %2 to the first token · %3 tokens/s · %4")
                     .arg(formatThousands(answer.tokens), formatDuration(answer.prompt_seconds),
                          formatThousands(static_cast<std::int64_t>(answer.tokens_per_second())),
                          endWord(answer.end, context));
  if (answer.dropped_prompt_tokens > 0) {
    note += ChatPage::tr(" · the first %1 tokens of the prompt did not fit")
                .arg(formatThousands(answer.dropped_prompt_tokens));
  }
  return note;
}

/// Turns alternate: the prompt of an exchange, then its answer.
int answerTurn(int exchange) {
  return 2 * exchange + 1;
}

}  // namespace

ChatPage::ChatPage(RunStore* store, ChatController* chat, QWidget* parent)
    : QWidget(parent),
      m_store(store),
      m_chat(chat),
      m_conversation(store),
      m_picker(new ModelPicker(store)),
      m_banner(new Banner),
      m_stack(new QStackedWidget),
      m_noModel(new EmptyState("chat", tr("No model to talk to yet"), tr("Train the demo model"))),
      m_starts(new StoryStarts),
      m_view(new ConversationView),
      m_composer(new Composer),
      m_sampling(new SamplingPanel),
      m_weights(new WeightsPanel),
      m_history(new QListWidget),
      m_noHistory(makeLabel(tr("None yet"), FontRole::body, Tone::muted)) {
  auto* header = new PageHeader(tr("Chat"));
  QPushButton* fresh = plainButton(tr("New conversation"), "plus");
  header->addAction(fresh);
  connect(fresh, &QPushButton::clicked, this, &ChatPage::startNew);
  auto* columns = new QHBoxLayout;
  columns->setSpacing(12);
  columns->addWidget(makeTalk(), 1);
  columns->addWidget(makeSide());
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(header);
  layout->addWidget(m_banner);
  layout->addLayout(columns, 1);
  connectParts();
}

QWidget* ChatPage::makeTalk() {
  auto* pane = new Card;
  pane->content()->addWidget(m_picker);
  m_stack->addWidget(m_noModel);
  m_stack->addWidget(m_starts);
  m_stack->addWidget(m_view);
  // The card is its background.
  m_stack->setStyleSheet("QStackedWidget { background: transparent; }");
  pane->content()->addWidget(m_stack, 1);
  auto* writing = new Card;
  m_composer->setPlaceholder(tr("Begin a story…"));
  writing->content()->addWidget(m_composer);
  auto* talk = new QWidget;
  auto* layout = new QVBoxLayout(talk);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(pane, 1);
  layout->addWidget(writing);
  return talk;
}

QWidget* ChatPage::makeSide() {
  auto* history = new Card(tr("Earlier conversations"));
  m_history->setAccessibleName(tr("Earlier conversations"));
  m_history->setFrameShape(QFrame::NoFrame);
  m_history->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_history->setTextElideMode(Qt::ElideRight);
  history->content()->addWidget(m_noHistory, 0, Qt::AlignTop);
  history->content()->addWidget(m_history, 1);
  auto* side = new QWidget;
  side->setFixedWidth(kSide_px);
  auto* layout = new QVBoxLayout(side);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(m_weights);
  layout->addWidget(m_sampling);
  layout->addWidget(history, 1);
  return side;
}

void ChatPage::connectParts() {
  connect(m_noModel, &EmptyState::activated, this, &ChatPage::demoRequested);
  connect(static_cast<StoryStarts*>(m_starts), &StoryStarts::chosen, this, &ChatPage::ask);
  connect(m_composer, &Composer::sendRequested, this, &ChatPage::ask);
  connect(m_composer, &Composer::stopRequested, m_chat, &ChatController::stop);
  connect(m_picker, &ModelPicker::changed, this, &ChatPage::startNew);
  connect(m_view, &ConversationView::regenerateRequested, this, &ChatPage::regenerate);
  connect(m_view, &ConversationView::editRequested, this, [this](int turn) {
    m_composer->setText(m_conversation.exchanges()[turn / 2].prompt);
    m_composer->focusInput();
  });
  connect(m_view, &ConversationView::branchRequested, this, [this](int turn, int direction) {
    const int exchange = turn / 2;
    m_conversation.show(exchange, m_conversation.exchanges()[exchange].shown + direction);
    showBranch(exchange);
  });
  connect(m_history, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
    openConversation(item->data(Qt::UserRole).toLongLong());
  });
  connect(m_history, &QListWidget::itemClicked, m_history, &QListWidget::itemActivated);
  connect(m_chat, &ChatController::loaded, this, &ChatPage::takeLoaded);
  connect(m_chat, &ChatController::piece, this, &ChatPage::takePiece);
  connect(m_chat, &ChatController::finished, this, &ChatPage::takeAnswer);
  connect(m_chat, &ChatController::failed, this, &ChatPage::takeFailure);
}

void ChatPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  const QString problem = m_picker->refresh();
  if (!problem.isEmpty()) showProblem(tr("The runs could not be read"), problem);
  refreshHistory();
  updateStack();
  if (!m_picker->isEmpty()) m_composer->focusInput();
}

void ChatPage::talkTo(qint64 runId, qint64 step) {
  m_picker->refresh();
  m_picker->choose(runId, step < 0 ? std::nullopt : std::optional<qint64>(step));
}

void ChatPage::startNew() {
  m_chat->drop();
  m_answering = -1;
  m_composer->setBusy(false);
  m_conversation.clear();
  m_view->clear();
  m_banner->hide();
  m_history->clearSelection();
  m_weights->clearLoaded();
  updateStack();
}

void ChatPage::openConversation(qint64 id) {
  startNew();
  const QString problem = attempt([&] { m_conversation.load(id); });
  if (!problem.isEmpty()) showProblem(tr("The conversation could not be read"), problem);
  for (const Exchange& exchange : m_conversation.exchanges()) {
    m_view->addUser(exchange.prompt);
    m_view->addAnswer();
    showBranch(m_view->turnCount() / 2 - 1);
  }
  updateStack();
}

void ChatPage::refreshHistory() {
  attempt([&] {
    m_history->clear();
    for (const ConversationRow& row : m_store->conversations()) {
      auto* item = new QListWidgetItem(QString::fromStdString(row.title), m_history);
      item->setData(Qt::UserRole, QVariant::fromValue<qlonglong>(row.id));
      item->setToolTip(
          tr("%1 · step %2").arg(dateText(row.created_ms), formatThousands(row.checkpoint_step)));
    }
  });
  m_history->setHidden(m_history->count() == 0);
  m_noHistory->setVisible(m_history->count() == 0);
}

void ChatPage::updateStack() {
  QWidget* page = m_view;
  if (m_view->turnCount() == 0)
    page = m_picker->isEmpty() ? static_cast<QWidget*>(m_noModel) : m_starts;
  m_stack->setCurrentWidget(page);
  m_picker->setHidden(m_picker->isEmpty());
  m_sampling->setContext(m_picker->context());
  m_composer->setBlocked(m_picker->isEmpty() ? tr("Train a model first") : QString());
}

void ChatPage::ask(const QString& prompt) {
  if (m_answering >= 0 || !m_picker->runId()) return;
  m_banner->hide();
  const QString problem = attempt(
      [&] { m_conversation.addPrompt(prompt, *m_picker->runId(), m_picker->step().value_or(0)); });
  if (!problem.isEmpty()) return showProblem(tr("The conversation cannot be kept"), problem);
  m_view->addUser(prompt);
  m_view->addAnswer();
  updateStack();
  refreshHistory();
  answerTo(static_cast<int>(m_conversation.exchanges().size()) - 1);
}

void ChatPage::answerTo(int exchange) {
  m_answering = exchange;
  const int turn = answerTurn(exchange);
  m_view->setText(turn, {});
  m_view->setNote(turn, {});
  m_view->setStreaming(turn, true);
  m_composer->setBusy(true);
  m_answeringIn = m_weights->shortName();
  m_chat->ask({.runFolder = m_store->run_folder(*m_picker->runId()),
               .step = m_picker->step(),
               .prompt = m_conversation.exchanges()[exchange].prompt,
               .sampling = m_sampling->options(),
               .weights = m_weights->format(),
               .cancel = {}});
}

void ChatPage::takeLoaded(const LoadedModel& model) {
  m_weights->setLoaded(model);
  if (model.notice.isEmpty()) return;
  m_banner->showMessage({.kind = BannerKind::warning,
                         .title = tr("An older checkpoint answers"),
                         .text = model.notice,
                         .details = {},
                         .actions = {}});
}

void ChatPage::takePiece(const QString& text) {
  if (m_answering < 0) return;
  const int turn = answerTurn(m_answering);
  // The space between prompt and answer is the bubble's edge here.
  const bool first = m_view->text(turn).isEmpty();
  const auto word = std::find_if(text.begin(), text.end(), [](QChar c) { return !c.isSpace(); });
  m_view->appendText(turn, first ? text.mid(word - text.begin()) : text);
}

void ChatPage::takeAnswer(const Generation& answer) {
  if (m_answering < 0) return;
  const QString note = noteOf(answer, m_picker->context());
  endAnswer(m_answeringIn.isEmpty() ? note : note + tr(" · weights in %1").arg(m_answeringIn));
}

void ChatPage::takeFailure(const QString& reason) {
  if (m_answering < 0) return;
  endAnswer(tr("no answer"));
  showProblem(tr("The model could not answer"), reason);
}

void ChatPage::endAnswer(const QString& note) {
  const int exchange = std::exchange(m_answering, -1);
  const int turn = answerTurn(exchange);
  m_composer->setBusy(false);
  m_view->setStreaming(turn, false);
  const Answer answer{m_view->text(turn), note};
  const QString problem = attempt([&] { m_conversation.addAnswer(exchange, answer); });
  if (!problem.isEmpty()) showProblem(tr("The answer was not kept"), problem);
  showBranch(exchange);
}

void ChatPage::regenerate(int turn) {
  if (m_answering >= 0 || !m_picker->runId()) return;
  m_sampling->advanceSeed();
  answerTo(turn / 2);
}

void ChatPage::showBranch(int exchange) {
  const Exchange& asked = m_conversation.exchanges()[exchange];
  const int turn = answerTurn(exchange);
  if (asked.answers.isEmpty()) return;
  const Answer& answer = asked.answers[asked.shown];
  m_view->setText(turn, answer.text);
  m_view->setNote(turn, answer.note);
  m_view->setBranch(turn, asked.shown + 1, static_cast<int>(asked.answers.size()));
}

void ChatPage::showProblem(const QString& title, const QString& text) {
  m_banner->showMessage(
      {.kind = BannerKind::danger, .title = title, .text = text, .details = {}, .actions = {}});
}

}  // namespace athanor
