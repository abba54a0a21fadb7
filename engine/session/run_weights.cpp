// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/run_weights.h"

#include <fmt/format.h>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/session/run_checkpoint.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

/// Adapters trained beside merged adapters, and so on.
constexpr int kDeepest = 8;

/// Throws damaged naming the first extent in which the two differ.
void check_same_shape(const ModelConfig& adapted, const ModelConfig& base,
                      const fs::path& run_folder) {
  struct Extent {
    const char* name;
    std::int64_t of_adapter;
    std::int64_t of_base;
  };
  for (const Extent& extent :
       {Extent{"layers", adapted.layers, base.layers}, Extent{"width", adapted.width, base.width},
        Extent{"vocabulary", adapted.vocabulary, base.vocabulary},
        Extent{"heads", adapted.heads, base.heads},
        Extent{"kv_heads", adapted.kv_heads, base.kv_heads}, Extent{"ffn", adapted.ffn, base.ffn},
        Extent{"head_size", adapted.head_dim(), base.head_dim()}}) {
    if (extent.of_adapter == extent.of_base) continue;
    throw Error(
        ErrorKind::damaged,
        fmt::format("The adapter of {} is for a model whose {} is {}, but that of the model "
                    "it names is {}. Choose the model that it was trained beside.",
                    run_folder.string(), extent.name, extent.of_adapter, extent.of_base));
  }
}

CheckpointFolder::Loaded load_base(const fs::path& checkpoint) {
  std::error_code error;
  if (!fs::exists(checkpoint, error)) {
    throw Error(ErrorKind::not_found,
                fmt::format("The adapters belong to the model of {}, which is not there any more. "
                            "Put it back; they are of no use without it.",
                            checkpoint.string()));
  }
  return CheckpointFolder::load(checkpoint, false);
}

}  // namespace

RunWeights::RunWeights(RunSpec spec, CheckpointFolder::Loaded loaded, int depth)
    : spec_(std::move(spec)),
      loaded_(std::make_unique<CheckpointFolder::Loaded>(std::move(loaded))) {
  check_model_config(spec_.model);
  const LoraConfig& lora = spec_.train.lora;
  if (!lora.on()) {
    own_ = std::make_unique<CheckpointWeights>(loaded_->weights, ParameterTable(spec_.model).all());
    return;
  }
  own_ =
      std::make_unique<CheckpointWeights>(loaded_->weights, AdapterTable(spec_.model, lora).all());
  base_ = std::make_unique<RunWeights>(open_base(spec_, depth + 1));
  check_same_shape(spec_.model, base_->spec_.model, run_folder());
  merged_ = std::make_unique<AdaptedWeights>(spec_.model, lora, base_->source(), *own_);
}

RunWeights RunWeights::open(const fs::path& run_folder, std::optional<std::int64_t> step,
                            std::string& notice) {
  return {read_run_spec(run_folder), load_run_checkpoint(run_folder, step, notice), 0};
}

RunWeights RunWeights::open_checkpoint(const fs::path& checkpoint) {
  return open_checkpoint(checkpoint, 0);
}

RunWeights RunWeights::open_checkpoint(const fs::path& checkpoint, int depth) {
  CheckpointFolder::Loaded loaded = load_base(checkpoint);
  // Checkpoints lie in <run folder>/checkpoints.
  return {read_run_spec(checkpoint.parent_path().parent_path()), std::move(loaded), depth};
}

RunWeights RunWeights::open_base(const RunSpec& spec) {
  return open_base(spec, 0);
}

RunWeights RunWeights::open_base(const RunSpec& spec, int depth) {
  if (spec.base.checkpoint.empty()) {
    throw Error(ErrorKind::invalid_argument,
                "train.lora_rank above 0 trains adapters beside a model, but none is named. Choose "
                "the run to start from.");
  }
  if (depth > kDeepest) {
    throw Error(ErrorKind::damaged,
                fmt::format("{} is the model of adapters beside adapters more than {} times: a "
                            "run's settings were changed after it was made.",
                            spec.base.checkpoint, kDeepest));
  }
  RunWeights base = open_checkpoint(spec.base.checkpoint, depth);
  if (const std::string found = base.fingerprint(); found != spec.base.fingerprint) {
    throw Error(ErrorKind::damaged,
                fmt::format("The model in {} is not the one that the adapters were trained beside. "
                            "Put that one back, or train new ones.",
                            spec.base.checkpoint),
                fmt::format("fingerprint {} instead of {}", found, spec.base.fingerprint));
  }
  return base;
}

const WeightSource& RunWeights::source() const {
  if (merged_) return *merged_;
  return *own_;
}

std::string RunWeights::fingerprint() const {
  return checksum_text(loaded_->weights.file_checksum());
}

const WeightSource* RunWeights::adapters() const {
  return merged_ ? own_.get() : nullptr;
}

}  // namespace athanor
