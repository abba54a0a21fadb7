// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/run_status.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QLocale>

#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "gui/run/attempt.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

QString words(const char* source) {
  return QCoreApplication::translate("RunStatus", source);
}

}  // namespace

BadgeKind badgeOf(RunStatus status) {
  switch (status) {
    case RunStatus::preparing:
      return BadgeKind::preparing;
    case RunStatus::running:
      return BadgeKind::running;
    case RunStatus::paused:
      return BadgeKind::paused;
    case RunStatus::interrupted:
      return BadgeKind::interrupted;
    case RunStatus::finished:
      return BadgeKind::finished;
    case RunStatus::failed:
      return BadgeKind::failed;
    case RunStatus::stopped:
      return BadgeKind::stopped;
  }
  return BadgeKind::failed;
}

BadgeKind badgeOf(const RunRecord& record) {
  // No run that is trained here has no steps.
  const bool imported = record.steps == 0 && record.status == RunStatus::finished;
  return imported ? BadgeKind::imported : badgeOf(record.status);
}

bool isLive(RunStatus status) {
  return status == RunStatus::preparing || status == RunStatus::running;
}

bool isResumable(const RunRecord& record) {
  return !isLive(record.status) && record.status != RunStatus::finished &&
         record.step < record.steps;
}

QString importedFrom(const RunRecord& record) {
  std::string from;
  attempt([&] {
    from = run_spec_from_json(parse_json(record.spec, record.name), record.name).imported_from;
  });
  return QString::fromStdString(from);
}

QString dataText(const RunRecord& record) {
  RunSpec spec;
  attempt([&] { spec = run_spec_from_json(parse_json(record.spec, record.name), record.name); });
  if (spec.sources.empty()) return words("built-in stories");
  if (spec.sources.size() > 1) return words("%1 sources").arg(spec.sources.size());
  const QString path = QString::fromStdString(spec.sources.front().path);
  const QString name = QFileInfo(path).fileName();
  return name.isEmpty() ? path : name;
}

int seriesOf(std::int64_t runId) {
  return static_cast<int>((runId - 1) % kSeriesCount) + 1;
}

QString dateText(std::int64_t ms) {
  const QDateTime time = QDateTime::fromMSecsSinceEpoch(ms);
  const bool thisYear = time.date().year() == QDate::currentDate().year();
  return QLocale::c().toString(time, thisYear ? "d MMM, HH:mm" : "d MMM yyyy");
}

}  // namespace athanor
