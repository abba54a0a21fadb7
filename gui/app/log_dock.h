// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What happened in this window, line by line; F12 opens and closes it.

#include <QDockWidget>

#include "gui/run/run_controller.h"

class QPlainTextEdit;

namespace athanor {

class LogDock : public QDockWidget {
  Q_OBJECT
 public:
  explicit LogDock(RunController* controller, QWidget* parent = nullptr);

  void write(const QString& line);

 private:
  QPlainTextEdit* m_text;
  QString m_stage;
};

}  // namespace athanor
