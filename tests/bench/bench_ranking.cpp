// SPDX-License-Identifier: GPL-3.0-or-later

/// Whether the planner's order of ways to train is the machine's: for each preset the three fastest
/// ways that a budget leaves, as predicted, against the same measured in turns. Regret is how much
/// slower the first is than the fastest of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "engine/backend/registry.h"
#include "engine/base/clock.h"
#include "engine/planner/search.h"
#include "engine/session/run_spec.h"

namespace athanor {
namespace {

/// Ways closer than this are as good as each other: their order says nothing.
constexpr double kAs_good = 0.02;
constexpr int kTurns = 5;

struct Way {
  TrainConfig train;
  double predicted = 0;
  std::vector<double> measured = {};

  double median() const {
    std::vector<double> sorted = measured;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

/// The fastest as predicted within the budget, no two as good as each other.
std::vector<Way> best_ways(const RunSpec& spec, const DeviceSpeed& speed, std::int64_t budget) {
  std::vector<Way> ways;
  const std::int64_t sequences = spec.train.micro_batch * spec.train.gradient_accumulation;
  for (std::int64_t micro = 1; micro <= sequences; ++micro) {
    if (sequences % micro != 0) continue;
    for (int level = 0; level < kDeviceKeepLevels; ++level) {
      TrainConfig way = spec.train;
      way.micro_batch = micro;
      way.gradient_accumulation = sequences / micro;
      way.recompute_level = level;
      const TrainPlan plan = plan_training(spec.model, way, BackendTraits());
      if (plan.memory.peak_bytes > budget) continue;
      ways.push_back({way, predict_throughput(plan, spec.model, way, speed).tokens_per_second});
    }
  }
  std::sort(ways.begin(), ways.end(),
            [](const Way& a, const Way& b) { return a.predicted > b.predicted; });
  std::vector<Way> best;
  for (const Way& way : ways) {
    if (best.empty() || way.predicted < (1 - kAs_good) * best.back().predicted) best.push_back(way);
    if (best.size() == 3) break;
  }
  return best;
}

double measure(const ModelConfig& model, const TrainConfig& train, Backend& backend) {
  TrainArenas arenas(plan_training(model, train, BackendTraits()), backend,
                     std::filesystem::temp_directory_path());
  TrainMemory memory(model, train, backend, arenas);
  const auto step = [&] {
    for (std::int64_t micro = 0; micro < train.gradient_accumulation; ++micro)
      memory.train_micro_batch(1, static_cast<std::uint64_t>(micro), micro == 0);
    memory.update(1e-3, 1);
  };
  step();
  const Stopwatch watch;
  step();
  return static_cast<double>(train.tokens_per_step(model.context)) / watch.seconds();
}

void compare(const std::string& name, Backend& backend, const DeviceSpeed& speed, double share) {
  const RunSpec spec = preset(name).spec;
  const std::int64_t all = plan_training(spec.model, spec.train, BackendTraits()).memory.peak_bytes;
  std::vector<Way> ways =
      best_ways(spec, speed, static_cast<std::int64_t>(share * static_cast<double>(all)));
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Way& way : ways)
      way.measured.push_back(measure(spec.model, way.train, backend));
  }
  double fastest = 0;
  for (const Way& way : ways)
    fastest = std::max(fastest, way.median());
  bool ordered = true;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    std::printf("%-8s %zu. micro-batch %2lld S%lld %10.0f %10.0f\n", name.c_str(), i + 1,
                static_cast<long long>(ways[i].train.micro_batch),
                static_cast<long long>(ways[i].train.recompute_level), ways[i].predicted,
                ways[i].median());
    ordered = ordered && (i == 0 || ways[i].median() < ways[i - 1].median());
  }
  std::printf("%-8s order %s, regret %.1f %%\n", name.c_str(), ordered ? "kept" : "not kept",
              100 * (1 - ways.front().median() / fastest));
  std::fflush(stdout);
}

}  // namespace
}  // namespace athanor

int main(int argc, char** argv) {
  using namespace athanor;
  CLI::App app("The planner's order of ways against the machine's");
  double share = 0.6;
  std::vector<std::string> names = {"spark", "nano", "small"};
  app.add_option("--share", share, "Budget, of what the preset takes");
  app.add_option("--presets", names)->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  const auto backend = make_backend();
  const DeviceSpeed speed =
      measure_device(*backend, std::filesystem::temp_directory_path(), CancelToken());
  std::printf("preset   way                    predicted   measured tokens/s\n");
  for (const std::string& name : names)
    compare(name, *backend, speed, share);
  return 0;
}
