// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/import_menu.h"

#include <QFileDialog>

namespace athanor {

ImportMenu::ImportMenu(QWidget* parent) : QMenu(parent) {
  addAction(tr("GGUF file…"), this, [this] {
    const QString path = QFileDialog::getOpenFileName(parentWidget(), tr("Model to import"), {},
                                                      tr("Models (*.gguf);;All files (*)"));
    if (!path.isEmpty()) emit chosen(path);
  });
  addFolder(tr("Hugging Face folder…"), tr("Folder of the model to import"));
  addSeparator();
  addFolder(tr("Run's folder of another Athanor…"), tr("Folder of the run to take over"));
}

void ImportMenu::addFolder(const QString& entry, const QString& title) {
  addAction(entry, this, [this, title] {
    const QString path = QFileDialog::getExistingDirectory(parentWidget(), title);
    if (!path.isEmpty()) emit chosen(path);
  });
}

}  // namespace athanor
