// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Prompts that were kept to be used again.

#include <QPushButton>
#include <functional>

class QMenu;

namespace athanor {

class RunStore;

class PromptMenu : public QPushButton {
  Q_OBJECT
 public:
  explicit PromptMenu(RunStore* store, QWidget* parent = nullptr);

  /// What "Keep this prompt" keeps.
  void setCurrent(std::function<QString()> current);

 signals:
  void chosen(const QString& prompt);
  void problem(const QString& title, const QString& text);

 private:
  void fill();
  void change(const std::function<void()>& change);

  RunStore* m_store;
  QMenu* m_menu;
  std::function<QString()> m_current;
};

}  // namespace athanor
