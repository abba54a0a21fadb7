// SPDX-License-Identifier: GPL-3.0-or-later
// Trains the first steps of a preset on random tokens and writes all that another implementation
// needs to do the same: initial.safetensors and curve.json (settings, batches, learning rates,
// losses).
#include <CLI/CLI.hpp>
#include <iostream>

#include "engine/backend/registry.h"
#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "engine/train/trainer.h"
#include "tests/bench/random_tokens.h"

namespace {

using namespace athanor;

class Losses : public TrainObserver {
 public:
  void on_step(const StepMetrics& metrics) override {
    steps.push_back({{"loss", metrics.loss},
                     {"learning_rate", metrics.learning_rate},
                     {"gradient_norm", metrics.gradient_norm}});
  }
  void on_evaluation(const Evaluation&) override {}
  void on_checkpoint(const SavedCheckpoint&) override {}
  void on_checkpoint_failed(std::int64_t, const std::string&) override {}
  void on_paused(bool) override {}

  Json steps = Json::array();
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Exports the first steps of a preset");
  std::string preset_id = "nano";
  std::int64_t steps = 50;
  std::string folder;
  app.add_option("--preset", preset_id);
  app.add_option("--steps", steps);
  app.add_option("folder", folder)->required();
  CLI11_PARSE(app, argc, argv);

  RunSpec spec = preset(preset_id).spec;
  spec.train.steps = steps;
  spec.train.evaluation_interval = 0;
  spec.train.checkpoint_interval = 0;
  const RandomTokens tokens(64 * spec.train.tokens_per_step(spec.model.context),
                            static_cast<std::int32_t>(spec.model.vocabulary));
  const TokenShard shard = tokens.open();
  const std::filesystem::path out(folder);
  create_folders(out / "checkpoints");
  const auto backend = make_backend();
  Trainer trainer({.model = spec.model,
                   .train = spec.train,
                   .train_tokens = shard,
                   .validation_tokens = shard,
                   .end_of_text = -1,
                   .validation_bytes = 1,
                   .checkpoints = out / "checkpoints"},
                  *backend);
  const ParameterTable& table = trainer.memory().parameters();
  std::vector<NamedTensor> weights;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    weights.push_back(
        {table.all()[i].name, table.view(trainer.memory().weights, static_cast<int>(i))});
  }
  write_safetensors(out / "initial.safetensors", weights);

  Json batches = Json::array();
  BatchLoader loader(shard, -1, spec.model.context, static_cast<std::uint64_t>(spec.train.seed));
  HostBatch batch(spec.train.micro_batch, spec.model.context);
  for (std::int64_t step = 0; step < steps; ++step) {
    loader.next(batch);
    batches.push_back({{"tokens", batch.tokens}, {"targets", batch.targets}});
  }
  TrainControl control;
  Losses losses;
  trainer.run(control, losses);
  write_file_atomically(
      out / "curve.json",
      Json{{"spec", run_spec_to_json(spec)}, {"batches", batches}, {"steps", losses.steps}}.dump());
  std::cout << "Wrote " << steps << " steps of " << preset_id << " to " << folder << "\n";
  return 0;
}
