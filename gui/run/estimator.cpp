// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/estimator.h"

#include <utility>

namespace athanor {
namespace {

Estimate estimateOf(const RunSpec& spec) {
  Estimate estimate{.spec = spec, .need = {}, .problem = {}};
  try {
    estimate.need = estimate_run(spec);
  } catch (const std::exception& error) {
    estimate.problem = QString::fromUtf8(error.what());
  }
  return estimate;
}

}  // namespace

Estimator::Estimator(QObject* parent) : QObject(parent), m_thread("estimate") {}

void Estimator::ask(const RunSpec& spec) {
  if (m_busy) {
    m_next = spec;
    return;
  }
  work(spec);
}

void Estimator::work(const RunSpec& spec) {
  m_busy = true;
  m_thread.post([this, spec] {
    Estimate estimate = estimateOf(spec);
    m_inbox.post([this, estimate = std::move(estimate)] { receive(estimate); });
  });
}

void Estimator::receive(const Estimate& estimate) {
  m_busy = false;
  if (m_next) {
    work(*std::exchange(m_next, std::nullopt));
    return;
  }
  emit answered(estimate);
}

}  // namespace athanor
