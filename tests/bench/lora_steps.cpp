// SPDX-License-Identifier: GPL-3.0-or-later
// Trains the first steps of adapters beside a run's model and writes all that another
// implementation needs to do the same (lora_peer.py): model/ for transformers, adapter/ for PEFT as
// it begins, curve.json (settings, micro-batches, learning rates, losses).
#include <CLI/CLI.hpp>
#include <iostream>

#include "engine/backend/registry.h"
#include "engine/base/json.h"
#include "engine/exchange/peft_adapter.h"
#include "engine/session/model_exchange.h"
#include "engine/session/run_weights.h"
#include "engine/train/trainer.h"
#include "tests/bench/losses.h"

namespace {

using namespace athanor;

/// The adapters as they are now, in FP32 on the processor.
class PresentAdapters : public WeightSource {
 public:
  explicit PresentAdapters(const TrainMemory& memory) : memory_(memory) {}
  std::string name() const override { return "adapters"; }
  DType type() const override { return DType::f32; }
  void read(int parameter, std::int64_t first, std::span<float> to) const override {
    const Tensor from = memory_.parameters().view(memory_.weights, parameter);
    std::copy_n(from.as<float>() + first, to.size(), to.begin());
  }

 private:
  const TrainMemory& memory_;
};

int run(int argc, char** argv) {
  CLI::App app("The first steps of adapters beside a run's model");
  std::string run_folder;
  std::string text;
  std::string out;
  std::int64_t context = 128;
  TrainConfig train{.steps = 20,
                    .micro_batch = 2,
                    .schedule = Schedule::constant,
                    .learning_rate = 1e-3,
                    .evaluation_interval = 0,
                    .checkpoint_interval = 0};
  train.lora.rank = 8;
  app.add_option("--run", run_folder, "Of the base")->required();
  app.add_option("--text", text)->required();
  app.add_option("--steps", train.steps);
  app.add_option("--batch", train.micro_batch);
  app.add_option("--lr", train.learning_rate);
  app.add_option("--rank", train.lora.rank);
  app.add_option("--targets", train.lora.targets);
  app.add_flag("--rs", train.lora.rs_lora);
  app.add_option("--context", context);
  app.add_option("folder", out)->required();
  CLI11_PARSE(app, argc, argv);

  std::string notice;
  const RunWeights base = RunWeights::open(run_folder, {}, notice);
  ModelConfig model = base.spec().model;
  model.context = context;
  const std::filesystem::path folder(out);
  create_folders(folder);
  const Tokenizer tokenizer = Tokenizer::load(base.run_folder() / "tokenizer.json");
  std::vector<std::int32_t> ids;
  tokenizer.encode(read_small_file(text), ids);
  TokenShardWriter writer(folder / "text.tokens", static_cast<std::int32_t>(model.vocabulary), 0);
  writer.add_document(ids);
  writer.finish();
  const TokenShard shard = TokenShard::open(folder / "text.tokens");
  const auto backend = make_backend({.device = "cpu"});
  Trainer trainer({.model = model,
                   .train = train,
                   .train_tokens = shard,
                   .validation_tokens = shard,
                   .end_of_text = -1,
                   .validation_bytes = 1,
                   .checkpoints = folder / "checkpoints",
                   .base = {.weights = &base.source(),
                            .path = base.checkpoint().string(),
                            .fingerprint = base.fingerprint()}},
                  *backend);
  write_peft_adapter(model, train.lora, PresentAdapters(trainer.memory()), "model",
                     folder / "adapter");
  export_run(base.run_folder(), {.type = NumberFormat::f32, .folder = folder / "model"},
             CancelToken(), {});
  Json batches = Json::array();
  BatchLoader loader(shard, -1, context, static_cast<std::uint64_t>(train.seed));
  HostBatch batch(train.micro_batch, context);
  for (std::int64_t i = 0; i < train.steps; ++i) {
    loader.next(batch);
    batches.push_back({{"tokens", batch.tokens}, {"targets", batch.targets}});
  }
  TrainControl control;
  Losses losses(train.steps);
  try {
    trainer.run(control, losses);
  } catch (const Cancelled&) {
    // As it should end.
  }
  write_file_atomically(folder / "curve.json", Json{{"train", settings_to_json(train)},
                                                    {"context", context},
                                                    {"batches", batches},
                                                    {"steps", losses.steps}}
                                                   .dump());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::cerr << error.message() << " " << error.context() << "\n";
    return 1;
  }
}
