// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/log_dock.h"

#include <QPlainTextEdit>
#include <QTime>

#include "gui/models/run_status.h"
#include "widgets/format.h"

namespace athanor {
namespace {

constexpr int kMostLines = 2000;

}  // namespace

LogDock::LogDock(RunController* controller, QWidget* parent)
    : QDockWidget(tr("Log"), parent), m_text(new QPlainTextEdit) {
  setObjectName("log");
  setAllowedAreas(Qt::BottomDockWidgetArea);
  m_text->setReadOnly(true);
  m_text->setMaximumBlockCount(kMostLines);
  m_text->setAccessibleName(tr("Log"));
  setWidget(m_text);
  connect(controller, &RunController::stageChanged, this, [this](const QString& what) {
    if (what != m_stage) write(what);
    m_stage = what;
  });
  connect(controller, &RunController::started, this, [this](const SessionStart& start) {
    write(tr("Run %1 \"%2\": %3 parameters, %4 planned = %5 allocated, from step %6")
              .arg(start.record.id)
              .arg(QString::fromStdString(start.record.name),
                   formatThousands(start.record.parameters),
                   formatBytes(start.plan.memory.peak_bytes), formatBytes(start.allocated_bytes),
                   formatThousands(start.first_step)));
  });
  connect(controller, &RunController::checkpointSaved, this, [this](qint64 step) {
    write(tr("Checkpoint of step %1 saved").arg(formatThousands(step)));
  });
  connect(controller, &RunController::noticed, this,
          [this](const Notice& notice) { write(QString::fromStdString(notice.sentence())); });
  connect(controller, &RunController::refused, this, [this](const QString& reason) {
    write(reason.isEmpty() ? tr("The preparation was cancelled") : reason);
  });
  connect(controller, &RunController::ended, this, [this](const SessionEnd& end) {
    write(tr("%1 at step %2. %3")
              .arg(badgeWord(badgeOf(end.record.status)), formatThousands(end.record.step),
                   QString::fromStdString(end.record.problem)));
  });
}

void LogDock::write(const QString& line) {
  m_text->appendPlainText(QTime::currentTime().toString("HH:mm:ss  ") + line);
}

}  // namespace athanor
