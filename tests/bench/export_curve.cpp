// SPDX-License-Identifier: GPL-3.0-or-later
// Trains the first steps of a preset on random tokens and writes all that another implementation
// needs to do the same: initial.safetensors (FP32) and curve.json (device, settings, micro-batches,
// learning rates, losses). On a card, weights are BF16 with an FP32 master.
#include <CLI/CLI.hpp>
#include <iostream>

#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/registry.h"
#include "engine/train/trainer.h"
#include "tests/bench/losses.h"
#include "tests/bench/model_file.h"
#include "tests/bench/random_tokens.h"

namespace {

using namespace athanor;

/// What a step goes on from: not rounded where weights are.
void write_initial_weights(const TrainMemory& memory, Backend& backend,
                           const std::filesystem::path& file) {
  const Tensor& flat = memory.master.present() ? memory.master : memory.weights;
  const ParameterList& table = memory.parameters();
  std::vector<Buffer> copies;
  std::vector<NamedTensor> weights;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    Tensor tensor = table.view(flat, static_cast<int>(i));
    copies.emplace_back(tensor.bytes());
    backend.download(copies.back().span(), tensor);
    tensor.data = copies.back().data();
    weights.push_back({table.all()[i].name, tensor});
  }
  write_safetensors(file, weights);
}

int export_curve(int argc, char** argv) {
  CLI::App app("Exports the first steps of a preset");
  std::string preset_id = "nano";
  std::int64_t steps = 50;
  std::string folder;
  std::string device;
  std::string models;
  bool learnable = false;
  bool as_card = false;
  bool muon = false;
  app.add_option("--preset", preset_id);
  app.add_option("--models", models, "A file of models of which --preset is one");
  app.add_option("--steps", steps);
  app.add_option("--device", device, "cpu, cuda:0 and so on");
  app.add_flag("--as-card", as_card,
               "Store weights and values as a card does, on the processor too");
  app.add_flag("--muon", muon, "Change the layers' matrices by Muon");
  app.add_flag("--learnable", learnable, "Tokens mostly follow from the one before");
  app.add_option("folder", folder)->required();
  CLI11_PARSE(app, argc, argv);

  RunSpec spec = models.empty() ? preset(preset_id).spec : model_in_file(models, preset_id);
  spec.train.steps = steps;
  if (muon) spec.train.optimizer = Optimizer::muon;
  spec.train.evaluation_interval = 0;
  spec.train.checkpoint_interval = 0;
  const auto backend = make_backend({.device = device});
  spec.train = suited_to(as_card ? cuda::card_traits() : backend->traits(), spec.train);
  const RandomTokens tokens(64 * spec.train.tokens_per_step(spec.model.context),
                            static_cast<std::int32_t>(spec.model.vocabulary), learnable);
  const TokenShard shard = tokens.open();
  const std::filesystem::path out(folder);
  create_folders(out);
  Trainer trainer({.model = spec.model,
                   .train = spec.train,
                   .train_tokens = shard,
                   .validation_tokens = shard,
                   .end_of_text = -1,
                   .validation_bytes = 1,
                   .checkpoints = out / "checkpoints"},
                  *backend);
  write_initial_weights(trainer.memory(), *backend, out / "initial.safetensors");

  Json batches = Json::array();
  BatchLoader loader(shard, -1, spec.model.context, static_cast<std::uint64_t>(spec.train.seed));
  HostBatch batch(spec.train.micro_batch, spec.model.context);
  for (std::int64_t i = 0; i < steps * spec.train.gradient_accumulation; ++i) {
    loader.next(batch);
    batches.push_back({{"tokens", batch.tokens}, {"targets", batch.targets}});
  }
  TrainControl control;
  Losses losses(steps);
  try {
    trainer.run(control, losses);
  } catch (const Cancelled&) {
    // As it should end.
  }
  write_file_atomically(out / "curve.json", Json{{"device", backend->device().name},
                                                 {"spec", run_spec_to_json(spec)},
                                                 {"batches", batches},
                                                 {"steps", losses.steps}}
                                                .dump());
  std::cout << "Wrote " << steps << " steps of " << preset_id << " to " << folder << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return export_curve(argc, argv);
  } catch (const Error& error) {
    std::cerr << error.message() << " " << error.context() << "\n";
    return 1;
  }
}
