// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Takes files and folders that are dropped on a page, and says so while they hover over it.

#include <QString>
#include <QStringList>
#include <QWidget>

class QDropEvent;

namespace athanor {

/// Covers the page while something hovers, else hidden. Takes what lies on this machine alone.
class DropTarget : public QWidget {
  Q_OBJECT
 public:
  /// `sentence` says what a drop does.
  DropTarget(QWidget* page, const QString& sentence);

 signals:
  void dropped(const QStringList& paths);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  QString m_sentence;
};

}  // namespace athanor
