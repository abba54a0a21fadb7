// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/run_feed.h"

#include <utility>

namespace athanor {
namespace {

constexpr int kPoll_ms = 1000;

}  // namespace

/// The store's connection of the reading thread, opened there.
struct RunFeed::Reader {
  std::filesystem::path home;
  std::unique_ptr<RunStore> store;

  const RunStore& opened() {
    if (!store) store = std::make_unique<RunStore>(home);
    return *store;
  }
};

RunFeed::RunFeed(std::filesystem::path home, RunController* controller, QObject* parent)
    : QObject(parent),
      m_controller(controller),
      m_reader(std::make_shared<Reader>()),
      m_thread("history") {
  m_reader->home = std::move(home);
  m_poll.setInterval(kPoll_ms);
  connect(&m_poll, &QTimer::timeout, this, &RunFeed::poll);
  connect(controller, &RunController::rowsArrived, this, &RunFeed::receiveRows);
  connect(controller, &RunController::checkpointSaved, this, &RunFeed::poll);
  connect(controller, &RunController::ended, this, &RunFeed::poll);
}

RunFeed::~RunFeed() = default;

void RunFeed::open(qint64 runId) {
  m_runId = runId;
  ++m_generation;
  m_loaded = false;
  m_reading = false;
  m_lastMetric = -1;
  m_lastEvaluation = -1;
  request(-1, -1);
}

void RunFeed::close() {
  m_runId.reset();
  ++m_generation;
  m_loaded = false;
}

void RunFeed::setVisible(bool visible) {
  if (!visible) {
    m_poll.stop();
    return;
  }
  poll();
  m_poll.start();
}

bool RunFeed::isOwn() const {
  return m_runId && m_controller->runId() == m_runId;
}

void RunFeed::poll() {
  if (m_runId && !m_reading) request(m_lastMetric, m_lastEvaluation);
}

void RunFeed::request(std::int64_t afterMetric, std::int64_t afterEvaluation) {
  m_reading = true;
  const bool whole = !m_loaded;
  m_thread.post([this, reader = m_reader, generation = m_generation, id = *m_runId, afterMetric,
                 afterEvaluation, whole] {
    try {
      RunHistory news = readHistory(reader->opened(), id, afterMetric, afterEvaluation);
      m_inbox.post(
          [this, generation, whole, news = std::move(news)] { receive(generation, news, whole); });
    } catch (const std::exception& error) {
      m_inbox.post([this, generation, reason = QString::fromUtf8(error.what())] {
        if (generation != m_generation) return;
        m_reading = false;
        emit failed(reason);
      });
    }
  });
}

void RunFeed::receive(int generation, const RunHistory& news, bool whole) {
  if (generation != m_generation) return;
  m_reading = false;
  if (!whole && resumeCount(news) != m_resumes) {
    // Steps were forgotten and are being trained again: what was shown is no longer the run.
    open(*m_runId);
    return;
  }
  m_resumes = resumeCount(news);
  RunHistory fresh = news;
  fresh.record = newest(news.record);
  const RunRows rows = unseen({.metrics = news.metrics, .evaluations = news.evaluations});
  fresh.metrics = rows.metrics;
  fresh.evaluations = rows.evaluations;
  m_loaded = true;
  if (whole) {
    emit replaced(fresh);
  } else {
    emit grown(fresh);
  }
  if (!whole || !isOwn()) return;
  // The store may lag behind the channel.
  const auto& recent = m_controller->recentRows();
  const RunRows ahead = unseen({.metrics = {recent.begin(), recent.end()}, .evaluations = {}});
  if (!ahead.empty()) emit rowsGrown(ahead);
}

/// How a run of this process ended stands in the store, unless that could not be written.
RunRecord RunFeed::newest(const RunRecord& stored) const {
  const std::optional<SessionEnd>& end = m_controller->lastEnd();
  if (!end || end->record.id != stored.id || end->record.updated_ms <= stored.updated_ms) {
    return stored;
  }
  RunRecord record = end->record;
  record.name = stored.name;
  return record;
}

void RunFeed::receiveRows(const RunRows& rows) {
  if (!isOwn() || !m_loaded) return;
  const RunRows fresh = unseen(rows);
  if (!fresh.empty()) emit rowsGrown(fresh);
}

RunRows RunFeed::unseen(const RunRows& rows) {
  RunRows fresh;
  for (const MetricRow& row : rows.metrics) {
    if (row.step <= m_lastMetric) continue;
    fresh.metrics.push_back(row);
    m_lastMetric = row.step;
  }
  for (const EvaluationRow& row : rows.evaluations) {
    if (row.step <= m_lastEvaluation) continue;
    fresh.evaluations.push_back(row);
    m_lastEvaluation = row.step;
  }
  return fresh;
}

}  // namespace athanor
