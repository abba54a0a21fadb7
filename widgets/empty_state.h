// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What stands in the place of what is missing: an icon, one sentence and one button.

#include <QWidget>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace athanor {

class EmptyState : public QWidget {
  Q_OBJECT
 public:
  /// An empty `action` shows no button.
  EmptyState(const QString& iconName, const QString& sentence, const QString& action = {},
             QWidget* parent = nullptr);

  void setSentence(const QString& sentence);
  void setAction(const QString& action);
  /// Beside the button.
  void addButton(QWidget* button);

 signals:
  void activated();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void updateIcon();

  QString m_iconName;
  QLabel* m_icon;
  QLabel* m_sentence;
  QPushButton* m_button;
  QHBoxLayout* m_buttons;
};

}  // namespace athanor
