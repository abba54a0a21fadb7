// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The column of pages at the left of the window; Ctrl+1, Ctrl+2 … open them.

#include <QString>
#include <QVector>
#include <QWidget>

class QAbstractButton;

namespace athanor {

struct RailEntry {
  QString iconName;
  QString word;
};

class Rail : public QWidget {
  Q_OBJECT
 public:
  explicit Rail(const QVector<RailEntry>& entries, QWidget* parent = nullptr);

  int current() const { return m_current; }
  /// −1 marks none. Does not emit.
  void setCurrent(int index);

 signals:
  /// The user chose a page, also the current one again.
  void activated(int index);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  QVector<QAbstractButton*> m_items;
  int m_current = -1;
};

/// Plan, Run, Chat, Runs, Data, Settings with their icons.
QVector<RailEntry> standardRailEntries();

}  // namespace athanor
