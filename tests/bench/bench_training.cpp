// SPDX-License-Identifier: GPL-3.0-or-later
// Full training steps of a preset, timed; one JSON object on standard output.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "engine/backend/registry.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/machine.h"
#include "engine/session/run_spec.h"
#include "engine/train/trainer.h"
#include "tests/bench/fma_probe.h"
#include "tests/bench/random_tokens.h"

namespace {

using namespace athanor;

/// Keeps the speed of every step, and ends the run after one of them by an exception, so that
/// neither the evaluation nor the checkpoint of a run's end is part of it.
class StepTimes : public TrainObserver {
 public:
  explicit StepTimes(std::int64_t last_step) : last_step_(last_step) {}

  void on_step(const StepMetrics& metrics) override {
    rates.push_back(metrics.tokens_per_second);
    if (metrics.step == last_step_) throw Cancelled();
  }
  void on_evaluation(const Evaluation&) override {}
  void on_checkpoint(const SavedCheckpoint&) override {}
  void on_disk_low(const std::string&) override {}
  void on_checkpoint_failed(std::int64_t, const std::string&) override {}
  void on_paused(bool) override {}

  std::vector<double> rates;

 private:
  std::int64_t last_step_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times training steps of a preset");
  std::string preset_id = "nano";
  std::int64_t steps = 20;
  int threads = 0;
  std::int64_t micro_batch = 0;
  app.add_option("--preset", preset_id);
  app.add_option("--steps", steps);
  app.add_option("--threads", threads);
  app.add_option("--batch", micro_batch, "Sequences per micro-batch instead of the preset's");
  CLI11_PARSE(app, argc, argv);

  RunSpec spec = preset(preset_id).spec;
  if (micro_batch > 0) spec.train.micro_batch = micro_batch;
  spec.train.gradient_accumulation = 1;
  spec.train.evaluation_interval = 0;
  spec.train.checkpoint_interval = 0;
  spec.train.steps = steps + 10;
  const RandomTokens tokens(64 * spec.train.tokens_per_step(spec.model.context),
                            static_cast<std::int32_t>(spec.model.vocabulary));
  const TokenShard shard = tokens.open();
  const auto backend = make_backend({.threads = threads});
  Trainer trainer({.model = spec.model,
                   .train = spec.train,
                   .train_tokens = shard,
                   .validation_tokens = shard,
                   .end_of_text = -1,
                   .validation_bytes = 1,
                   .checkpoints = {}},
                  *backend);
  ThreadPool probe_pool(threads);
  const double probe_gflops = fma_peak_gflops(probe_pool);
  TrainControl control;
  constexpr std::int64_t kWarmup = 3;
  StepTimes times(steps + kWarmup);
  try {
    trainer.run(control, times);
  } catch (const Cancelled&) {
    // As it should end.
  }
  times.rates.erase(times.rates.begin(), times.rates.begin() + kWarmup);
  const double rate = median(times.rates);
  const double flops_per_token =
      trainer.plan().step_flops() /
      static_cast<double>(spec.train.tokens_per_step(spec.model.context));
  std::cout << Json{{"preset", preset_id},
                    {"threads", backend->device().threads},
                    {"tokens_per_second", rate},
                    {"best_tokens_per_second",
                     *std::max_element(times.rates.begin(), times.rates.end())},
                    {"gflops", rate * flops_per_token * 1e-9},
                    {"probe_gflops", probe_gflops},
                    {"share_of_probe", rate * flops_per_token * 1e-9 / probe_gflops},
                    {"arena_bytes", trainer.allocated_bytes()},
                    {"peak_resident_bytes", peak_resident_bytes()}}
                   .dump()
            << "\n";
  return 0;
}
