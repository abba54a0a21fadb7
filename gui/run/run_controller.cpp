// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/run_controller.h"

#include <utility>

namespace athanor {
namespace {

constexpr int kDrain_ms = 100;
constexpr std::size_t kRecentRows = 8192;
constexpr std::size_t kSpeedRows = 64;

}  // namespace

RunController::RunController(std::filesystem::path home, QObject* parent)
    : QObject(parent),
      m_channel(std::make_shared<MetricChannel>()),
      m_worker(std::move(home), m_channel),
      m_thread("training") {
  m_drain.setInterval(kDrain_ms);
  connect(&m_drain, &QTimer::timeout, this, &RunController::drain);
  m_inbox.relay(&m_worker, &TrainingWorker::stage,
                [this](const QString& what, qint64 done, qint64 total) {
                  emit stageChanged(what, done, total);
                });
  m_inbox.relay(&m_worker, &TrainingWorker::started,
                [this](const SessionStart& start) { handleStarted(start); });
  m_inbox.relay(&m_worker, &TrainingWorker::paused, [this](bool paused) {
    if (m_state != State::stopping) setState(paused ? State::paused : State::running);
  });
  m_inbox.relay(&m_worker, &TrainingWorker::checkpointSaved,
                [this](qint64 step) { emit checkpointSaved(step); });
  m_inbox.relay(&m_worker, &TrainingWorker::noticed,
                [this](const Notice& notice) { emit noticed(notice); });
  m_inbox.relay(&m_worker, &TrainingWorker::ended,
                [this](const SessionEnd& end) { handleEnded(end); });
  m_inbox.relay(&m_worker, &TrainingWorker::refused,
                [this](const QString& reason) { handleRefused(reason); });
}

RunController::~RunController() {
  if (busy()) m_control->stop();
}

std::optional<qint64> RunController::runId() const {
  if (!m_session) return std::nullopt;
  return m_session->record.id;
}

std::optional<double> RunController::secondsLeft() const {
  if (!m_session || m_recent.size() < 2) return std::nullopt;
  const MetricRow& newest = m_recent.back();
  const MetricRow& oldest = m_recent[m_recent.size() - std::min(m_recent.size(), kSpeedRows)];
  const auto steps = static_cast<double>(newest.step - oldest.step);
  if (steps <= 0) return std::nullopt;
  const auto todo = static_cast<double>(m_session->record.steps - newest.step);
  return todo * (newest.seconds - oldest.seconds) / steps;
}

void RunController::start(const RunSpec& spec, const std::optional<RehearsalRow>& rehearsal) {
  launch(
      {.spec = spec, .rehearsal = rehearsal, .resumed = {}, .backend = m_backend, .control = {}});
}

void RunController::resume(qint64 runId, const TrainingSession::ResumeOptions& how) {
  launch({.spec = {}, .resumed = runId, .how = how, .backend = m_backend, .control = {}});
}

void RunController::launch(TrainingJob job) {
  if (busy()) return;
  m_session.reset();
  m_end.reset();
  m_latest.reset();
  m_recent.clear();
  m_channel->take();
  // A control steers one sitting: its stop is for good.
  m_control = std::make_shared<TrainControl>();
  job.control = m_control;
  setState(State::preparing);
  m_drain.start();
  m_thread.post([this, job = std::move(job)] { m_worker.run(job); });
}

void RunController::setPaused(bool paused) {
  if (m_state == State::running && paused) m_control->pause();
  if (m_state == State::paused && !paused) m_control->resume();
}

void RunController::saveNow() {
  if (m_state == State::running || m_state == State::paused) m_control->save_now();
}

void RunController::stop() {
  if (!busy()) return;
  m_control->stop();
  setState(State::stopping);
}

void RunController::setState(State state) {
  if (m_state == state) return;
  m_state = state;
  emit stateChanged(state);
}

void RunController::drain() {
  const RunRows rows = m_channel->take();
  if (rows.empty()) return;
  m_recent.insert(m_recent.end(), rows.metrics.begin(), rows.metrics.end());
  while (m_recent.size() > kRecentRows)
    m_recent.pop_front();
  if (!rows.metrics.empty()) m_latest = rows.metrics.back();
  emit rowsArrived(rows);
}

void RunController::handleStarted(const SessionStart& start) {
  m_session = start;
  if (m_state == State::preparing) setState(State::running);
  emit started(start);
}

void RunController::handleEnded(const SessionEnd& end) {
  m_drain.stop();
  drain();
  m_end = end;
  setState(State::ended);
  emit ended(end);
}

void RunController::handleRefused(const QString& reason) {
  m_drain.stop();
  setState(State::idle);
  emit refused(reason);
}

}  // namespace athanor
