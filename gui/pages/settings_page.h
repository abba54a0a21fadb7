// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What can be set for the whole program; each change applies at once and can be undone.

#include <QWidget>
#include <filesystem>
#include <functional>

#include "gui/models/app_settings.h"

class QToolButton;
class QVBoxLayout;

namespace athanor {

class NumberField;
class Segmented;

class SettingsPage : public QWidget {
  Q_OBJECT
 public:
  SettingsPage(const std::filesystem::path& home, AppSettings* settings, QWidget* parent = nullptr);

 private:
  QWidget* makeAppearance();
  QWidget* makeThreads();
  QWidget* makeFolder(const std::filesystem::path& home);
  QWidget* makeAbout();
  /// A row's field with an Undo button that is enabled while there is something to undo.
  QWidget* withUndo(QWidget* field, QToolButton* undo);

  AppSettings* m_settings;
  Segmented* m_appearance;
  NumberField* m_threads;
};

}  // namespace athanor
