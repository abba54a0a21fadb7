// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/estimator.h"

#include <algorithm>
#include <utility>

#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/registry.h"
#include "engine/base/error.h"
#include "engine/base/file.h"

namespace athanor {
namespace {

/// A part of this many of what is free: a proposal must still fit when free memory moves a little.
constexpr std::int64_t kHeadroom = 64;

/// What is asked for, as the card computes it and within its memory.
RunEstimate estimateOnCard(const RunSpec& spec, const GraphicsCard& card) {
  const std::int64_t usable = usable_bytes(card);
  return {.plan = plan_training(spec.model, on_card(spec.train),
                                cuda::card_traits(card.compute_capability)),
          .capacity_bytes = usable,
          .available_bytes = usable};
}

void search(Estimate& estimate, const TrainConfig& train, const DeviceSpeed& speed,
            std::int64_t budget_bytes, const BackendTraits& traits) {
  const RunSpec& spec = estimate.spec;
  estimate.speed = predict_throughput(estimate.need->plan, spec.model, train, speed);
  estimate.ways =
      search_plans(spec.model, train, speed, budget_bytes - budget_bytes / kHeadroom, traits);
  if (!estimate.card) return;
  // Applied, a proposal changes what was asked for no further than it has to.
  Proposals& ways = *estimate.ways;
  for (Proposal* way : {ways.fastest ? &*ways.fastest : nullptr,
                        ways.balanced ? &*ways.balanced : nullptr, &ways.leanest}) {
    if (way != nullptr) way->train = from_card(way->train, spec.train);
  }
}

std::optional<ChoiceCost> costOf(const RunSpec& spec, const BackendTraits& traits,
                                 const DeviceSpeed* speed) {
  const TrainConfig train = suited_to(traits, spec.train);
  try {
    const TrainPlan plan = plan_training(spec.model, train, traits);
    ChoiceCost cost{.peak_bytes = plan.memory.peak_bytes};
    if (speed != nullptr) {
      cost.tokens_per_second =
          predict_throughput(plan, spec.model, train, *speed).tokens_per_second;
    }
    return cost;
  } catch (const Error&) {
    // It cannot be combined with the rest; choosing it says why.
    return std::nullopt;
  }
}

std::optional<std::int64_t> freeAt(const std::filesystem::path& home) {
  try {
    return free_disk_bytes(home);
  } catch (const Error&) {
    // The plan stands without; a run would say why it cannot have its file.
    return std::nullopt;
  }
}

/// All that an answer depends on.
struct Question {
  RunSpec spec;
  std::optional<GraphicsCard> card;
  BackendOptions backend;                       ///< where there is no card
  std::shared_ptr<const DeviceSpeed> measured;  ///< of its device; null: not yet
  std::int64_t reserve_bytes = 0;
  std::filesystem::path home;
  Estimator::Alternatives alternatives;
};

void fillEstimate(Estimate& estimate, const Question& asked) {
  const RunSpec& spec = asked.spec;
  const BackendTraits traits = asked.card ? cuda::card_traits(asked.card->compute_capability)
                                          : find_devices().usable(asked.backend.device).traits();
  estimate.fp8 = traits.fp8;
  estimate.need =
      asked.card ? estimateOnCard(spec, *asked.card) : estimate_run(spec, asked.backend);
  const std::int64_t budget_bytes =
      std::max<std::int64_t>(0, estimate.need->available_bytes - asked.reserve_bytes);
  estimate.need->fits = estimate.need->plan.memory.peak_bytes <= budget_bytes;
  estimate.onCard = asked.card || find_devices().usable(asked.backend.device).is_card();
  if (!estimate.onCard && estimate.need->plan.host.peak_bytes > 0) {
    estimate.drive_free_bytes = freeAt(asked.home);
  }
  std::optional<DeviceSpeed> rated;
  if (asked.card) rated = speed_of(*asked.card);
  const DeviceSpeed* speed = rated ? &*rated : asked.measured.get();
  const TrainConfig train = suited_to(traits, spec.train);
  if (speed != nullptr) search(estimate, train, *speed, budget_bytes, traits);
  for (const RunSpec& other : asked.alternatives(spec))
    estimate.alternatives.push_back(costOf(other, traits, speed));
}

Estimate estimateOf(const Question& asked) {
  Estimate estimate{.spec = asked.spec, .card = asked.card, .reserve_bytes = asked.reserve_bytes};
  try {
    fillEstimate(estimate, asked);
  } catch (const std::exception& error) {
    estimate.problem = QString::fromUtf8(error.what());
  }
  return estimate;
}

}  // namespace

Estimator::Estimator(std::filesystem::path home, QObject* parent)
    : QObject(parent), m_home(std::move(home)), m_gauge("gauge"), m_thread("estimate") {}

Estimator::~Estimator() {
  stopMeasuring();
}

void Estimator::ask(const RunSpec& spec) {
  m_asked = spec;
  if (m_busy) {
    m_next = spec;
    return;
  }
  work(spec);
}

void Estimator::work(const RunSpec& spec) {
  m_busy = true;
  m_thread.post([this, asked = Question{.spec = spec,
                                        .card = m_card,
                                        .backend = m_backend,
                                        .measured = speedOfDevice(),
                                        .reserve_bytes = m_reserve_bytes,
                                        .home = m_home,
                                        .alternatives = m_alternatives}] {
    Estimate estimate = estimateOf(asked);
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

/// What was measured, unless it is of another device by now.
std::shared_ptr<const DeviceSpeed> Estimator::speedOfDevice() const {
  return m_measured && m_measured->device == m_backend.device ? m_speed : nullptr;
}

void Estimator::measure(const BackendOptions& options) {
  if (m_measuring) {
    m_measureNext = options;
    return;
  }
  if (m_speed && m_measured == options) return;
  m_measuring = true;
  m_cancel = std::make_shared<CancelToken>();
  m_gauge.post([this, home = m_home, options, cancel = m_cancel] {
    std::shared_ptr<const DeviceSpeed> speed;
    try {
      const auto backend = make_backend(options);
      speed = std::make_shared<const DeviceSpeed>(kept_device_speed(home, *backend, *cancel));
    } catch (const std::exception&) {
      // Cancelled, or the measurement cannot be kept: the next time that Plan is shown tries again.
    }
    m_inbox.post([this, speed, options] { takeSpeed(speed, options); });
  });
}

void Estimator::rehearse(const RunSpec& spec, const BackendOptions& options) {
  if (m_rehearsing) return;
  m_rehearsing = true;
  m_rehearsal = std::make_shared<CancelToken>();
  m_gauge.post([this, home = m_home, spec, options, cancel = m_rehearsal] {
    std::optional<Rehearsal> result;
    QString problem;
    try {
      const auto backend = make_backend(options);
      result = athanor::rehearse(spec.model, spec.train, *backend, home, *cancel);
    } catch (const Cancelled&) {
      // Someone stopped it and knows.
    } catch (const std::exception& error) {
      problem = QString::fromUtf8(error.what());
    }
    m_inbox.post([this, result, problem] {
      m_rehearsing = false;
      emit rehearsed(result, problem);
    });
  });
}

void Estimator::stopMeasuring() {
  stopRehearsing();
  m_measureNext.reset();
  if (m_cancel) m_cancel->request();
}

void Estimator::stopRehearsing() {
  if (m_rehearsal) m_rehearsal->request();
}

void Estimator::takeSpeed(std::shared_ptr<const DeviceSpeed> speed, const BackendOptions& options) {
  m_measuring = false;
  if (speed) {
    m_speed = std::move(speed);
    m_measured = options;
    if (m_asked) ask(*m_asked);
  }
  // It may have been stopped, or have been of another device or number of threads.
  if (m_measureNext) measure(*std::exchange(m_measureNext, std::nullopt));
}

}  // namespace athanor
