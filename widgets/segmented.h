// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A choice of one among a few words in one framed row; Left and Right move it.

#include <QStringList>
#include <QVector>
#include <QWidget>

class QAbstractButton;
class QHBoxLayout;

namespace athanor {

class Segmented : public QWidget {
  Q_OBJECT
 public:
  /// `name` is the accessible name of the choice.
  Segmented(const QString& name, const QStringList& options, QWidget* parent = nullptr);

  int current() const { return m_current; }
  /// Emits currentChanged only when it differs.
  void setCurrent(int index);
  void setOptionEnabled(int index, bool enabled, const QString& reason = {});

 signals:
  void currentChanged(int index);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void move(int direction);

  QVector<QAbstractButton*> m_parts;
  int m_current = 0;
};

}  // namespace athanor
