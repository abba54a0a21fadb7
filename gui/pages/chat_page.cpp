// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/chat_page.h"

#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/models/conversation_files.h"
#include "gui/models/run_status.h"
#include "gui/pages/chat_pane.h"
#include "gui/pages/drop_target.h"
#include "gui/pages/example_dialog.h"
#include "gui/pages/import_menu.h"
#include "gui/pages/model_picker.h"
#include "gui/pages/page_header.h"
#include "gui/pages/prompt_menu.h"
#include "gui/pages/sampling_panel.h"
#include "gui/pages/show_panel.h"
#include "gui/pages/system_panel.h"
#include "gui/pages/weights_panel.h"
#include "gui/run/attempt.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/composer.h"
#include "widgets/conversation_view.h"
#include "widgets/empty_state.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

constexpr int kSide_px = 256;
constexpr int kLeastHistory_px = 96;
constexpr std::int64_t kAlternatives = 5;

}  // namespace

ChatPage::ChatPage(RunStore* store, ChatController* chat, QWidget* parent)
    : QWidget(parent),
      m_store(store),
      m_chat(chat),
      m_secondChat(new ChatController(this)),
      m_examples(store->home() / "examples" / "from-chat.jsonl"),
      m_banner(new Banner),
      m_panes(new Segmented(tr("Models talked to"), {tr("One model"), tr("Compare")})),
      m_pane(new ChatPane(store, chat)),
      m_second(new ChatPane(store, m_secondChat)),
      m_composer(new Composer),
      m_prompts(new PromptMenu(store)),
      m_sampling(new SamplingPanel),
      m_system(new SystemPanel),
      m_weights(new WeightsPanel),
      m_show(new ShowPanel),
      m_history(new QListWidget),
      m_noHistory(makeLabel(tr("None yet"), FontRole::body, Tone::muted)),
      m_speedTest(plainButton(tr("Speed test"), "clock")),
      m_export(plainButton(tr("Export"), "export")) {
  auto* header = new PageHeader(tr("Chat"));
  QPushButton* fresh = plainButton(tr("New conversation"), "plus");
  for (QWidget* action : std::initializer_list<QWidget*>{m_panes, m_speedTest, m_export, fresh})
    header->addAction(action);
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
  addActions();
  connectParts();
}

QWidget* ChatPage::makeTalk() {
  auto* panes = new QHBoxLayout;
  panes->setSpacing(12);
  panes->addWidget(m_pane, 1);
  panes->addWidget(m_second, 1);
  m_second->hide();
  auto* writing = new Card;
  m_composer->setPlaceholder(tr("Begin a story…"));
  m_composer->addBelow(m_prompts);
  writing->content()->addWidget(m_composer);
  auto* talk = new QWidget;
  auto* layout = new QVBoxLayout(talk);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addLayout(panes, 1);
  layout->addWidget(writing);
  return talk;
}

QWidget* ChatPage::makeSide() {
  auto* history = new Card(tr("Earlier conversations"));
  history->setMinimumHeight(kLeastHistory_px);
  m_history->setAccessibleName(tr("Earlier conversations"));
  m_history->setFrameShape(QFrame::NoFrame);
  m_history->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_history->setTextElideMode(Qt::ElideRight);
  history->content()->addWidget(m_noHistory, 0, Qt::AlignTop);
  history->content()->addWidget(m_history, 1);
  auto* column = new QWidget;
  auto* layout = new QVBoxLayout(column);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(m_sampling);
  layout->addWidget(m_system);
  layout->addWidget(m_weights);
  layout->addWidget(m_show);
  layout->addWidget(history, 1);
  auto* side = new QScrollArea;
  side->setWidget(column);
  side->setWidgetResizable(true);
  side->setFrameShape(QFrame::NoFrame);
  side->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  side->setFixedWidth(kSide_px);
  return side;
}

void ChatPage::addActions() {
  m_speedTest->setObjectName("speedTest");
  m_panes->setObjectName("panes");
  connect(m_speedTest, &QPushButton::clicked, this, &ChatPage::measureSpeed);
  auto* menu = new QMenu(m_export);
  connect(menu->addAction(tr("As Markdown, to read…")), &QAction::triggered, this,
          [this] { exportAs("md"); });
  connect(menu->addAction(tr("As messages, to train on…")), &QAction::triggered, this,
          [this] { exportAs("jsonl"); });
  connect(menu->addAction(tr("Copy")), &QAction::triggered, this, [this] {
    QGuiApplication::clipboard()->setText(markdownOf(conversation(), m_pane->modelName()));
  });
  m_export->setMenu(menu);
}

void ChatPage::connectParts() {
  auto* drop = new DropTarget(this, tr("Drop a model to import it"));
  connect(drop, &DropTarget::dropped, this, &ChatPage::dropped);
  connectPane(m_pane);
  connectPane(m_second);
  connect(m_panes, &Segmented::currentChanged, this,
          [this](int index) { setComparing(index == 1); });
  connect(m_composer, &Composer::sendRequested, this, &ChatPage::ask);
  connect(m_composer, &Composer::stopRequested, this, [this] {
    m_waiting.clear();
    for (ChatPane* pane : shownPanes())
      pane->stop();
  });
  connect(m_prompts, &PromptMenu::chosen, this, [this](const QString& prompt) {
    m_composer->setText(prompt);
    m_composer->focusInput();
  });
  m_prompts->setCurrent([this] { return m_composer->text(); });
  connect(m_prompts, &PromptMenu::problem, this, &ChatPage::showProblem);
  connect(m_show, &ShowPanel::styleChanged, this, [this](TokenStyle style) {
    m_pane->view()->setTokenStyle(style);
    m_second->view()->setTokenStyle(style);
  });
  connect(m_history, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
    startNew();
    m_pane->open(item->data(Qt::UserRole).toLongLong());
    updateControls();
  });
  connect(m_history, &QListWidget::itemClicked, m_history, &QListWidget::itemActivated);
}

void ChatPage::connectPane(ChatPane* pane) {
  connect(pane->noModel(), &EmptyState::activated, this, &ChatPage::demoRequested);
  QPushButton* import = plainButton(tr("Import a model"), "import");
  auto* menu = new ImportMenu(import);
  import->setMenu(menu);
  pane->noModel()->addButton(import);
  connect(menu, &ImportMenu::chosen, this, &ChatPage::importRequested);
  connect(pane->picker(), &ModelPicker::importRequested, this, &ChatPage::importRequested);
  connect(pane, &ChatPane::chosen, this, &ChatPage::ask);
  connect(pane, &ChatPane::modelChanged, this, &ChatPage::startNew);
  connect(pane, &ChatPane::loaded, this, &ChatPage::takeLoaded);
  connect(pane, &ChatPane::answered, this, &ChatPage::answerNext);
  connect(pane, &ChatPane::measured, this, &ChatPage::showSpeed);
  connect(pane, &ChatPane::problem, this, &ChatPage::showProblem);
  connect(pane, &ChatPane::exampleRequested, this, &ChatPage::addExample);
  connect(pane, &ChatPane::editRequested, this, [this](const QString& prompt) {
    m_composer->setText(prompt);
    m_composer->focusInput();
  });
  connect(pane, &ChatPane::regenerateRequested, this, [this, pane](int exchange) {
    if (m_composer->isBusy()) return;
    m_sampling->advanceSeed();
    m_composer->setBusy(true);
    pane->answer(exchange, manner());
  });
}

QVector<ChatPane*> ChatPage::shownPanes() const {
  if (m_panes->current() == 0) return {m_pane};
  return {m_pane, m_second};
}

const Conversation& ChatPage::conversation() const {
  return m_pane->conversation();
}

ConversationView* ChatPage::view() const {
  return m_pane->view();
}

ChatManner ChatPage::manner() const {
  SamplingOptions sampling = m_sampling->options();
  sampling.alternatives = kAlternatives;
  return {sampling, m_weights->format(), m_weights->shortName(), m_system->text()};
}

void ChatPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  for (ChatPane* pane : shownPanes())
    pane->refresh();
  refreshHistory();
  updateControls();
  if (!m_pane->picker()->isEmpty()) m_composer->focusInput();
}

void ChatPage::talkTo(qint64 runId, qint64 step) {
  m_pane->refresh();
  m_pane->picker()->choose(runId, step < 0 ? std::nullopt : std::optional<qint64>(step));
}

void ChatPage::setComparing(bool comparing) {
  m_panes->setCurrent(comparing ? 1 : 0);
  m_second->setVisible(comparing);
  m_pane->setLetter(comparing ? tr("A") : QString());
  m_second->setLetter(comparing ? tr("B") : QString());
  if (comparing) m_second->refresh();
  startNew();
}

void ChatPage::startNew() {
  m_waiting.clear();
  for (ChatPane* pane : {m_pane, m_second})
    pane->startNew();
  m_composer->setBusy(false);
  m_banner->hide();
  m_history->clearSelection();
  m_weights->clearLoaded();
  m_system->clearLoaded();
  updateControls();
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

void ChatPage::updateControls() {
  std::int64_t used_tokens = 0;
  std::int64_t context = 0;
  for (const ChatPane* pane : shownPanes()) {
    used_tokens = std::max(used_tokens, pane->usedTokens());
    const std::int64_t tokens = pane->picker()->context();
    if (tokens > 0) context = context == 0 ? tokens : std::min(context, tokens);
  }
  const bool noModel = m_pane->picker()->isEmpty();
  m_sampling->setContext(context);
  m_composer->setContext(used_tokens, used_tokens > 0 ? context : 0);
  m_composer->setBlocked(noModel ? tr("Train a model first") : QString());
  m_speedTest->setEnabled(!noModel && !m_composer->isBusy());
  m_export->setEnabled(!conversation().exchanges().isEmpty());
}

void ChatPage::ask(const QString& prompt) {
  if (m_composer->isBusy()) return;
  m_banner->hide();
  for (ChatPane* pane : shownPanes()) {
    if (pane->add(prompt)) m_waiting.push_back(pane);
  }
  refreshHistory();
  m_secondChat->setBackend(m_chat->backend());
  answerNext();
}

void ChatPage::answerNext() {
  m_composer->setBusy(!m_waiting.isEmpty());
  updateControls();
  if (!m_waiting.isEmpty()) m_waiting.takeFirst()->answerLast(manner());
}

void ChatPage::takeLoaded(const LoadedModel& model) {
  m_weights->setLoaded(model);
  m_system->setLoaded(model);
  if (model.notice.isEmpty()) return;
  m_banner->showMessage({.kind = BannerKind::warning,
                         .title = tr("About this model"),
                         .text = model.notice,
                         .details = {},
                         .actions = {}});
}

void ChatPage::measureSpeed() {
  if (m_composer->isBusy() || !m_pane->picker()->runId()) return;
  m_composer->setBusy(true);
  updateControls();
  m_banner->showMessage({.kind = BannerKind::info,
                         .title = tr("Measuring how fast this model reads and writes…"),
                         .text = {},
                         .details = {},
                         .actions = {}});
  m_pane->measureSpeed(manner());
}

void ChatPage::showSpeed(const Generation& speed) {
  m_composer->setBusy(false);
  updateControls();
  if (speed.end == Generation::End::cancelled) return m_banner->hide();
  const auto rate = [](double tokens) { return formatThousands(std::llround(tokens)); };
  m_banner->showMessage(
      {.kind = BannerKind::success,
       .title = tr("Writes %1 tokens/s").arg(rate(speed.tokens_per_second())),
       .text = tr("%1 tokens one after the other. Reads %2 tokens/s: a prompt of %3 tokens takes "
                  "%4 to the first word.")
                   .arg(formatThousands(speed.tokens), rate(speed.prompt_tokens_per_second()),
                        formatThousands(speed.prompt_tokens), formatDuration(speed.prompt_seconds)),
       .details = {},
       .actions = {}});
}

void ChatPage::exportAs(const QString& suffix) {
  const bool markdown = suffix == "md";
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export the conversation"), "conversation." + suffix,
                                   markdown ? tr("Markdown (*.md)") : tr("Messages (*.jsonl)"));
  if (path.isEmpty()) return;
  const QString text = markdown ? markdownOf(conversation(), m_pane->modelName())
                                : messagesOf(conversation()) + "\n";
  const QString failure = attempt([&] { saveText(path.toStdString(), text); });
  if (!failure.isEmpty()) showProblem(tr("The conversation was not exported"), failure);
}

void ChatPage::addExample(const QString& prompt, const QString& answer) {
  ExampleDialog dialog(m_examples, prompt, answer, this);
  if (dialog.exec() != QDialog::Accepted) return;
  m_examples = dialog.file();
  m_banner->showMessage({.kind = BannerKind::success,
                         .title = tr("The example was added"),
                         .text = tr("To %1.").arg(QString::fromStdString(m_examples.string())),
                         .details = {},
                         .actions = {}});
}

void ChatPage::showProblem(const QString& title, const QString& text) {
  m_composer->setBusy(!m_waiting.isEmpty());
  updateControls();
  m_banner->showMessage(
      {.kind = BannerKind::danger, .title = title, .text = text, .details = {}, .actions = {}});
}

}  // namespace athanor
