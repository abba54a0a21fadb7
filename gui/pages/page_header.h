// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The title of a page at the left and its actions at the right, in the same place on every page.

#include <QLabel>
#include <QWidget>

class QHBoxLayout;

namespace athanor {

class PageHeader : public QWidget {
  Q_OBJECT
 public:
  explicit PageHeader(const QString& title, QWidget* parent = nullptr);

  void setTitle(const QString& title);
  /// Muted, below the title; empty hides the line.
  void setSubtitle(const QString& subtitle);
  void addBesideTitle(QWidget* widget);
  void addAction(QWidget* widget);

 private:
  QHBoxLayout* m_titleRow;
  QHBoxLayout* m_actions;
  QLabel* m_title;
  QLabel* m_subtitle;
};

}  // namespace athanor
