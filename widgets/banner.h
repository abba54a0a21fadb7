// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A problem or a piece of news in the page it concerns: what, why, and the buttons that mend it.

#include <QFrame>
#include <QString>
#include <QVector>

class QHBoxLayout;
class QLabel;
class QPushButton;
class QToolButton;

namespace athanor {

enum class BannerKind { warning, danger, info, success };

struct BannerAction {
  QString id;     ///< comes back in Banner::actionTriggered
  QString label;  ///< a verb and what it does
  bool primary = false;
};

struct BannerContent {
  BannerKind kind = BannerKind::info;
  QString title;    ///< what happened, semibold
  QString text;     ///< why, and what is lost; may be empty
  QString details;  ///< shown by a Details button, selectable; may be empty
  QVector<BannerAction> actions;
  bool closable = true;
};

/// Hidden until showMessage(); hides itself when closed.
class Banner : public QFrame {
  Q_OBJECT
 public:
  explicit Banner(QWidget* parent = nullptr);

  /// Replaces everything the banner showed before and shows it.
  void showMessage(const BannerContent& content);
  const BannerContent& content() const { return m_content; }

 signals:
  void actionTriggered(const QString& id);
  void closed();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void rebuildActions();
  void updateIcon();

  BannerContent m_content;
  QLabel* m_icon;
  QLabel* m_title;
  QLabel* m_text;
  QLabel* m_details;
  QToolButton* m_close;
  QWidget* m_actionRow;
  QHBoxLayout* m_actions;
};

}  // namespace athanor
