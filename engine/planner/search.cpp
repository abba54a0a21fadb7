// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace athanor {
namespace {

constexpr std::int64_t kSmall_chunk = 64;
constexpr std::int64_t kLarge_chunk = 1024;

bool offloads_any(const TrainConfig& train) {
  const Recompute recompute{train.recompute_level, train.recompute_further_layers};
  return recompute.most() == KeepLevel::host_input || train.offload_moments ||
         train.offload_master || train.offload_gradients;
}

/// Tries ways and keeps those that may win.
class Search {
 public:
  Search(const ModelConfig& model, const TrainConfig& train, const DeviceSpeed& speed,
         std::int64_t budget_bytes, const BackendTraits& traits)
      : model_(model), train_(train), speed_(speed), budget_bytes_(budget_bytes), traits_(traits) {}

  Proposals run() {
    train_.offload_moments = train_.offload_master = train_.offload_gradients = false;
    try_batches();
    if (!found_.fastest || found_.fastest->speed.tokens_per_second < most_tokens_per_second_) {
      try_offloading();
    }
    choose_balanced();
    return found_;
  }

 private:
  void try_batches() {
    const std::int64_t sequences = train_.micro_batch * train_.gradient_accumulation;
    bool may_fit = true;
    for (std::int64_t micro = 1; micro <= std::min<std::int64_t>(sequences, 4096); ++micro) {
      if (sequences % micro != 0 || sequences / micro > 4096) continue;
      std::int64_t least_bytes = std::numeric_limits<std::int64_t>::max();
      for (const std::int64_t chunk : chunks(micro)) {
        const std::int64_t bytes = try_levels(micro, sequences / micro, chunk, may_fit);
        least_bytes = std::min(least_bytes, bytes);
      }
      may_fit = may_fit && near_budget(least_bytes);
    }
  }

  void try_offloading() {
    offloading_ = true;
    train_.offload_moments = true;
    train_.offload_master = keeps_copy(train_.weights);
    try_batches();
    train_.offload_gradients = true;
    try_batches();
  }

  std::int64_t last_level() const { return (offloading_ ? kKeepLevels : kDeviceKeepLevels) - 1; }

  /// The present one first, which wins a tie, and one either way.
  std::vector<std::int64_t> chunks(std::int64_t micro) const {
    const std::int64_t rows = micro * model_.context;
    // Who offloads is short of memory.
    if (offloading_) return {std::min(train_.head_chunk_tokens, kSmall_chunk)};
    std::vector<std::int64_t> tried = {train_.head_chunk_tokens};
    if (train_.head_chunk_tokens > kSmall_chunk) tried.push_back(kSmall_chunk);
    if (train_.head_chunk_tokens < kLarge_chunk && rows >= kLarge_chunk) {
      tried.push_back(kLarge_chunk);
    }
    return tried;
  }

  /// A split of levels can be leaner than both by about as much.
  bool near_budget(std::int64_t bytes) const { return bytes / 10 * 9 <= budget_bytes_; }

  /// The least bytes found. What cannot fit is only looked at for how fast it would be.
  std::int64_t try_levels(std::int64_t micro, std::int64_t accumulation, std::int64_t chunk,
                          bool may_fit) {
    TrainConfig way = train_;
    way.micro_batch = micro;
    way.gradient_accumulation = accumulation;
    way.head_chunk_tokens = chunk;
    way.recompute_further_layers = 0;
    bool fitted = false;
    std::int64_t leanest_level = 0;
    std::int64_t least_bytes = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t level = 0; level <= last_level(); ++level) {
      way.recompute_level = level;
      const Seen seen = consider(way);
      if (level == 0 && (!may_fit || (offloading_ && micro > 1 && is_beaten(seen)))) {
        return seen.bytes;
      }
      // The first level that fits is too much for all layers: fewer at it may fit as well.
      if (seen.fits && !fitted && level > 0) split(way, level - 1);
      fitted = fitted || seen.fits;
      // Only one sequence at a time is lean enough to go on for that alone.
      if (seen.fits && micro > 1 && is_slow(seen)) break;
      if (seen.bytes >= least_bytes) continue;
      least_bytes = seen.bytes;
      leanest_level = level;
    }
    // What a further level makes again in one layer can outweigh what it drops in all: then a split
    // is leaner than either level, though not by much.
    const bool near = !fitted && !offloading_ && near_budget(least_bytes);
    const bool leanest_kind =
        micro == 1 && chunk == std::min(train_.head_chunk_tokens, kSmall_chunk);
    if (near || leanest_kind) try_splits(way, leanest_level);
    return least_bytes;
  }

  struct Seen {
    std::int64_t bytes = 0;
    double tokens_per_second = 0;
    bool fits = false;
  };

  /// Further levels are slower still.
  bool is_slow(const Seen& way) const {
    return way.tokens_per_second < kNearlyAsFast * found_.fastest->speed.tokens_per_second;
  }
  bool is_beaten(const Seen& way) const {
    return found_.fastest && way.tokens_per_second <= found_.fastest->speed.tokens_per_second;
  }

  /// All splits of `level` with its two neighbours.
  void try_splits(TrainConfig way, std::int64_t level) {
    for (const std::int64_t lower : {level - 1, level}) {
      if (lower < 0 || lower == last_level()) continue;
      way.recompute_level = lower;
      for (std::int64_t layers = 1; layers < model_.layers; ++layers) {
        way.recompute_further_layers = layers;
        consider(way);
      }
    }
  }

  /// The fewest layers one level further than `level` that fit.
  void split(TrainConfig way, std::int64_t level) {
    way.recompute_level = level;
    std::int64_t too_few = 0;
    std::int64_t enough = model_.layers;
    while (enough - too_few > 1) {
      way.recompute_further_layers = (too_few + enough) / 2;
      (consider(way).fits ? enough : too_few) = way.recompute_further_layers;
    }
  }

  Seen consider(const TrainConfig& way) {
    const TrainPlan plan = plan_training(model_, way, traits_);
    const Proposal proposal{.train = way,
                            .peak_bytes = plan.memory.peak_bytes,
                            .speed = predict_throughput(plan, model_, way, speed_),
                            .by_role = std::to_array(plan.memory.by_role)};
    const Seen seen{.bytes = proposal.peak_bytes,
                    .tokens_per_second = proposal.speed.tokens_per_second,
                    .fits = proposal.peak_bytes <= budget_bytes_};
    most_tokens_per_second_ = std::max(most_tokens_per_second_, seen.tokens_per_second);
    if (!offloading_ && (!leanest_here_ || leaner(proposal, *leanest_here_))) {
      leanest_here_ = proposal;
    }
    if (found_.leanest.peak_bytes == 0 || leaner(proposal, found_.leanest)) {
      found_.leanest = proposal;
      const auto* roles = std::begin(plan.memory.by_role);
      found_.binding =
          static_cast<MemoryRole>(std::max_element(roles, roles + kMemoryRoles) - roles);
    }
    if (!seen.fits) return seen;
    fitting_.push_back(proposal);
    if (!found_.fastest || faster(proposal, *found_.fastest)) found_.fastest = proposal;
    return seen;
  }

  /// The others offload only if the fastest does.
  void choose_balanced() {
    if (!found_.fastest) return;
    const bool offloads = offloads_any(found_.fastest->train);
    if (!offloads) found_.leanest = *leanest_here_;
    const double enough = kNearlyAsFast * found_.fastest->speed.tokens_per_second;
    found_.balanced = found_.fastest;
    for (const Proposal& way : fitting_) {
      if (!offloads && offloads_any(way.train)) continue;
      if (way.speed.tokens_per_second >= enough && leaner(way, *found_.balanced)) {
        found_.balanced = way;
      }
    }
  }

  static bool faster(const Proposal& a, const Proposal& b) {
    if (a.speed.tokens_per_second != b.speed.tokens_per_second) {
      return a.speed.tokens_per_second > b.speed.tokens_per_second;
    }
    return a.peak_bytes < b.peak_bytes;
  }
  static bool leaner(const Proposal& a, const Proposal& b) {
    if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
    return a.speed.tokens_per_second > b.speed.tokens_per_second;
  }

  const ModelConfig& model_;
  TrainConfig train_;  ///< and what is offloaded at present
  const DeviceSpeed& speed_;
  std::int64_t budget_bytes_;
  BackendTraits traits_;
  bool offloading_ = false;
  std::optional<Proposal> leanest_here_;  ///< of those that offload nothing
  double most_tokens_per_second_ = 0;     ///< also of ways that do not fit
  std::vector<Proposal> fitting_;
  Proposals found_;
};

std::string describe_level(std::int64_t level) {
  constexpr std::array<const char*, kKeepLevels> kDropped = {
      "keeps everything",        "recomputes norms",           "recomputes norms and activations",
      "recomputes the MLP",      "recomputes the MLP and QKV", "recomputes all but attention",
      "recomputes whole blocks", "offloads the blocks' inputs"};
  return kDropped[static_cast<std::size_t>(level)];
}

}  // namespace

Proposals search_plans(const ModelConfig& model, const TrainConfig& train, const DeviceSpeed& speed,
                       std::int64_t budget_bytes, const BackendTraits& traits) {
  check_training(model, train);
  return Search(model, train, speed, budget_bytes, traits).run();
}

std::string describe(const Proposal& proposal, const ModelConfig& model) {
  const TrainConfig& train = proposal.train;
  std::string text =
      fmt::format("micro-batch {} × {}, {}", train.micro_batch, train.gradient_accumulation,
                  describe_level(train.recompute_level));
  if (train.recompute_further_layers > 0) {
    text += fmt::format("; {} of {} layers one level further", train.recompute_further_layers,
                        model.layers);
  }
  const auto add = [&](bool offloaded, const char* what) {
    if (offloaded) text += fmt::format(", offloads {}", what);
  };
  add(train.offload_moments, "moments");
  add(train.offload_master, "master weights");
  add(train.offload_gradients, "gradients");
  return text;
}

}  // namespace athanor
