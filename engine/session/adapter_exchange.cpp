// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/adapter_exchange.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer.h"
#include "engine/exchange/peft_adapter.h"
#include "engine/session/finished_run.h"
#include "engine/session/model_exchange.h"
#include "engine/session/run_weights.h"
#include "engine/train/trainer.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

const WeightSource& adapters_of(const RunWeights& weights) {
  if (const WeightSource* adapters = weights.adapters()) return *adapters;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("The run in {} has no adapters: all of its model was trained. Export it "
                          "as a model.",
                          weights.run_folder().string()));
}

void keep_identity(const fs::path& from_run, const fs::path& run_folder) {
  const Tokenizer tokenizer = Tokenizer::load(from_run / "tokenizer.json");
  tokenizer.save(run_folder / "tokenizer.json");
  write_model_card(run_folder, model_card_of(from_run, tokenizer), from_run.string());
}

fs::path folder_of(const fs::path& home, std::int64_t run) {
  const RunStore store(home);
  if (!store.run(run)) throw Error(ErrorKind::not_found, fmt::format("There is no run {}.", run));
  return store.run_folder(run);
}

/// Adapters in memory.
class Numbers : public WeightSource {
 public:
  Numbers(std::string name, std::vector<std::vector<float>> parameters)
      : name_(std::move(name)), parameters_(std::move(parameters)) {}
  std::string name() const override { return name_; }
  DType type() const override { return DType::f32; }
  void read(int parameter, std::int64_t first, std::span<float> to) const override {
    const std::vector<float>& from = parameters_[static_cast<std::size_t>(parameter)];
    std::copy_n(from.begin() + first, to.size(), to.begin());
  }

 private:
  std::string name_;
  std::vector<std::vector<float>> parameters_;
};

}  // namespace

std::int64_t export_adapter(const fs::path& run_folder, std::optional<std::int64_t> step,
                            const fs::path& folder) {
  std::string notice;
  const RunWeights from = RunWeights::open(run_folder, step, notice);
  const WeightSource& adapters = adapters_of(from);
  write_peft_adapter(from.spec().model, from.spec().train.lora, adapters,
                     from.spec().base.checkpoint, folder);
  return from.step();
}

RunRecord merge_run(const fs::path& home, std::int64_t run, std::optional<std::int64_t> step,
                    const std::string& name, const CancelToken& cancel,
                    const ProgressCallback& progress) {
  const fs::path from_run = folder_of(home, run);
  std::string notice;
  const RunWeights from = RunWeights::open(from_run, step, notice);
  static_cast<void>(adapters_of(from));
  RunSpec spec;
  spec.name = name.empty() ? from.spec().name + ", merged" : name;
  spec.imported_from = from.checkpoint().string();
  spec.model = from.spec().model;
  const ParameterTable table(spec.model);
  FinishedRun made(home);
  write_first_checkpoint(made.folder(), table, from.source(), train_state_to_json(TrainState()),
                         "Merging the adapters", cancel, progress);
  keep_identity(from_run, made.folder());
  cancel.throw_if_requested();
  return made.commit(spec, table.count(), "merged",
                     fmt::format("Step {} of run {}", from.step(), run));
}

RunRecord import_adapter(const fs::path& home, const fs::path& folder, std::int64_t base,
                         const std::string& name) {
  const fs::path base_run = folder_of(home, base);
  std::string notice;
  const RunWeights beside = RunWeights::open(base_run, {}, notice);
  PeftAdapter adapter = read_peft_adapter(folder, beside.spec().model);
  RunSpec spec;
  spec.name = name.empty() ? folder.filename().string() : name;
  spec.imported_from = fs::absolute(folder).lexically_normal().string();
  spec.model = beside.spec().model;
  spec.base = {.checkpoint = beside.checkpoint().string(), .fingerprint = beside.fingerprint()};
  spec.train.lora = adapter.lora;
  const AdapterTable table(spec.model, adapter.lora);
  FinishedRun made(home);
  write_first_checkpoint(
      made.folder(), table, Numbers(folder.string(), std::move(adapter.parameters)),
      train_state_to_json(TrainState()), "Importing the adapter", CancelToken(), {});
  keep_identity(base_run, made.folder());
  return made.commit(spec, ParameterTable(spec.model).count(), "imported",
                     "From " + spec.imported_from);
}

}  // namespace athanor
