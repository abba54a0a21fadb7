// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What can be brought in, for the buttons that do it: each entry asks for its file or folder.

#include <QMenu>

namespace athanor {

class ImportMenu : public QMenu {
  Q_OBJECT
 public:
  explicit ImportMenu(QWidget* parent);

 signals:
  void chosen(const QString& path);

 private:
  void addFolder(const QString& entry, const QString& title);
};

}  // namespace athanor
