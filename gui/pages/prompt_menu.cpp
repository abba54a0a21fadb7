// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/prompt_menu.h"

#include <QMenu>
#include <string>
#include <vector>

#include "engine/store/run_store.h"
#include "gui/run/attempt.h"

namespace athanor {
namespace {

constexpr int kTitle_characters = 60;

QString titleOf(const std::string& prompt) {
  QString title = QString::fromStdString(prompt).simplified();
  if (title.size() > kTitle_characters) title = title.left(kTitle_characters) + "…";
  return title.replace("&", "&&");
}

}  // namespace

PromptMenu::PromptMenu(RunStore* store, QWidget* parent)
    : QPushButton(tr("Prompts"), parent),
      m_store(store),
      m_menu(new QMenu(this)),
      m_current([] { return QString(); }) {
  setAccessibleName(tr("Kept prompts"));
  setProperty("kind", "flat");
  setMenu(m_menu);
  connect(m_menu, &QMenu::aboutToShow, this, &PromptMenu::fill);
}

void PromptMenu::setCurrent(std::function<QString()> current) {
  m_current = std::move(current);
}

void PromptMenu::fill() {
  m_menu->clear();
  std::vector<std::string> prompts;
  const QString failure = attempt([&] { prompts = m_store->prompts(); });
  if (!failure.isEmpty()) emit problem(tr("The kept prompts could not be read"), failure);
  for (const std::string& prompt : prompts) {
    connect(m_menu->addAction(titleOf(prompt)), &QAction::triggered, this,
            [this, prompt] { emit chosen(QString::fromStdString(prompt)); });
  }
  if (!prompts.empty()) m_menu->addSeparator();
  const QString current = m_current();
  QAction* keep = m_menu->addAction(tr("Keep this prompt"));
  keep->setEnabled(!current.trimmed().isEmpty());
  connect(keep, &QAction::triggered, this,
          [this, current] { change([&] { m_store->keep_prompt(current.toStdString()); }); });
  QMenu* forget = m_menu->addMenu(tr("Forget"));
  forget->setEnabled(!prompts.empty());
  for (const std::string& prompt : prompts) {
    connect(forget->addAction(titleOf(prompt)), &QAction::triggered, this,
            [this, prompt] { change([&] { m_store->forget_prompt(prompt); }); });
  }
}

void PromptMenu::change(const std::function<void()>& change) {
  const QString failure = attempt(change);
  if (!failure.isEmpty()) emit problem(tr("The kept prompts could not be changed"), failure);
}

}  // namespace athanor
