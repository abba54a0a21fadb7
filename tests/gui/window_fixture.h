// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A window over a home of its own, and runs small enough to train in a test.

#include <QTemporaryDir>
#include <filesystem>
#include <memory>

#include "gui/app/main_window.h"

namespace athanor {

class WindowFixture {
 public:
  WindowFixture();

  MainWindow& window() { return *m_window; }
  std::filesystem::path home() const;
  /// Closes the window and opens another one over the same home, as starting again does.
  void restart();
  /// About 30 kB of plain English-like sentences.
  QString textFile() const;
  /// A model of a few thousand parameters on textFile().
  RunSpec tinySpec(std::int64_t steps) const;

 private:
  void open();

  QTemporaryDir m_folder;
  std::unique_ptr<MainWindow> m_window;
};

/// As if this machine had been measured before: a billion of everything a second.
void pretendMeasured(const std::filesystem::path& home);

/// As a desktop drops files on a widget.
void drop(QWidget* on, const QStringList& paths);

/// The theme, once for a program.
void prepareApplication();

}  // namespace athanor
