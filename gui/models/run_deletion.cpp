// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/run_deletion.h"

#include <filesystem>
#include <utility>

#include "gui/run/attempt.h"

namespace athanor {

RunDeletion::RunDeletion(RunStore* store, QObject* parent)
    : QObject(parent), m_store(store), m_files("deletion") {
  m_timer.setSingleShot(true);
  m_timer.setInterval(kGrace_ms);
  connect(&m_timer, &QTimer::timeout, this, &RunDeletion::commit);
}

RunDeletion::~RunDeletion() {
  commit();
  m_files.finish();
}

void RunDeletion::begin(qint64 runId) {
  commit();
  m_pending = runId;
  m_timer.start();
  emit pendingChanged();
}

void RunDeletion::undo() {
  m_timer.stop();
  m_pending.reset();
  emit pendingChanged();
}

void RunDeletion::commit() {
  if (!m_pending) return;
  m_timer.stop();
  const std::int64_t runId = *std::exchange(m_pending, std::nullopt);
  const std::filesystem::path folder = m_store->run_folder(runId);
  const QString problem = attempt([&] { m_store->delete_run(runId); });
  if (problem.isEmpty()) {
    m_files.post([folder] {
      std::error_code ignored;  // a folder that stays is only space, and entered again by no one
      std::filesystem::remove_all(folder, ignored);
    });
  } else {
    emit failed(problem);
  }
  emit pendingChanged();
}

}  // namespace athanor
