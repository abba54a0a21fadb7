// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Where a message is written: Enter sends, Shift+Enter starts a line, and the button is Send or,
/// while an answer runs, Stop.

#include <QString>
#include <QWidget>
#include <cstdint>

class QHBoxLayout;
class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace athanor {

class Composer : public QWidget {
  Q_OBJECT
 public:
  explicit Composer(QWidget* parent = nullptr);

  QString text() const;
  void setText(const QString& text);
  void setPlaceholder(const QString& text);
  /// Busy shows Stop and keeps what is being typed.
  void setBusy(bool busy);
  bool isBusy() const { return m_busy; }
  /// Nothing can be sent; `reason` is the tooltip of the button. Empty allows it again.
  void setBlocked(const QString& reason);
  /// "176 of 4,096 tokens" with a bar; a total of 0 hides it.
  void setContext(std::int64_t used_tokens, std::int64_t total_tokens);
  void focusInput();
  /// Left of the hint below the input.
  void addBelow(QWidget* widget);

 signals:
  /// The text is cleared after this; blank text is never sent.
  void sendRequested(const QString& text);
  void stopRequested();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void trigger();
  void updateButton();

  QPlainTextEdit* m_input;
  QHBoxLayout* m_below;
  QPushButton* m_button;
  QLabel* m_contextLabel;
  QProgressBar* m_contextBar;
  QLabel* m_contextText;
  QString m_blocked;
  bool m_busy = false;
};

}  // namespace athanor
