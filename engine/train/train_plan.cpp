// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/train_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/base/error.h"
#include "engine/train/train_memory.h"

namespace athanor {
namespace {

Buffer host_tier(const TrainPlan& plan, Backend& backend, const std::filesystem::path& folder) {
  const std::int64_t bytes = plan.host.peak_bytes;
  return bytes == 0 ? Buffer() : backend.allocate_host(folder, bytes);
}

/// Why a device of these traits cannot multiply so; empty when it can.
std::string problem_of(Products products, const BackendTraits& traits) {
  if (products != Products::fp8 || traits.fp8) return {};
  return "train.products fp8 needs a card of compute capability 8.9 or newer, such as a GeForce "
         "RTX "
         "40 or 50; this device has no FP8. Run it on such a card, or choose as_stored for a new "
         "run.";
}

void check_lora(const LoraConfig& lora, Products products) {
  if (!lora.on()) return;
  if (lora_targets(lora).empty()) {
    throw Error(ErrorKind::invalid_argument,
                "train.lora_targets must name at least one of q, k, v, o, gate, up and down.");
  }
  if (products == Products::fp8) {
    throw Error(ErrorKind::invalid_argument,
                "train.products must be as_stored where train.lora_rank is above 0: adapters are "
                "not trained beside products in FP8. Choose lora_base q8_0 or q4_0 for less "
                "memory.");
  }
}

}  // namespace

TrainArenas::TrainArenas(const TrainPlan& plan, Backend& backend,
                         const std::filesystem::path& folder)
    : device(backend.allocate(plan.memory.peak_bytes)), host(host_tier(plan, backend, folder)) {}

void check_training(const ModelConfig& model, const TrainConfig& train) {
  check_model_config(model);
  check_settings(train, "train");
  if (train.recompute_further_layers > model.layers) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("train.recompute_further_layers must be at most model.layers, {}; it is "
                    "{}.",
                    model.layers, train.recompute_further_layers));
  }
  if (train.recompute_level + 1 == kKeepLevels && train.recompute_further_layers > 0) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("train.recompute_further_layers must be 0 at train.recompute_level {}: "
                            "there is no further level.",
                            train.recompute_level));
  }
  if (train.offload_master && !keeps_copy(train.weights)) {
    throw Error(
        ErrorKind::invalid_argument,
        "train.offload_master needs train.weights in BF16 with their FP32 copy or its lower "
        "half: only these keep something beside them that could be offloaded.");
  }
  if (train.optimizer == Optimizer::muon && train.moments == Moments::eight_bit) {
    throw Error(
        ErrorKind::invalid_argument,
        "train.moments must be FP32 where train.optimizer is Muon: the embeddings, the head "
        "and the norms, which are then all that AdamW changes, never have 8-bit moments.");
  }
  check_lora(train.lora, train.products);
}

TrainConfig suited_to(const BackendTraits& traits, TrainConfig train) {
  if (!traits.bf16_only) return train;
  if (train.weights == WeightStorage::f32) train.weights = WeightStorage::bf16_master;
  train.activations = Precision::bf16;
  if (train.lora.on() && train.lora.base == FrozenStorage::f32)
    train.lora.base = FrozenStorage::bf16;
  return train;
}

void check_backend(const ModelConfig& model, const TrainConfig& train, const Backend& backend) {
  const BackendTraits traits = backend.traits();
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::invalid_argument, fmt::format("{} ({})", what, backend.device().name));
  };
  if (traits.bf16_only &&
      (train.weights == WeightStorage::f32 || train.activations != Precision::bf16 ||
       (train.lora.on() && train.lora.base == FrozenStorage::f32))) {
    refuse(
        "A card stores weights and activations in BF16, but this run was set up with FP32. Run it "
        "on the processor, or start a new run for the card.");
  }
  if (const std::string problem = problem_of(train.products, traits); !problem.empty()) {
    refuse(problem);
  }
  if (!backend.supports(Operation::attention_backward, model.head_dim())) {
    refuse(
        fmt::format("There are no kernels for heads of {} elements on this device. Choose "
                    "model.width and model.heads so that heads have 32, 64, 80, 96, 112 or 128.",
                    model.head_dim()));
  }
  if (model.width > traits.most_width) {
    refuse(fmt::format("model.width must be at most {} on this device; it is {}.",
                       traits.most_width, model.width));
  }
}

TrainPlan plan_training(const ModelConfig& model, const TrainConfig& train,
                        const BackendTraits& traits) {
  check_training(model, train);
  if (const std::string problem = problem_of(train.products, traits); !problem.empty()) {
    throw Error(ErrorKind::invalid_argument, problem);
  }
  PlanBackend backend(traits);
  TrainArenas arenas;
  TrainMemory memory(model, train, backend, arenas);
  TrainPlan plan{.parameters = memory.transformer().parameters().count(),
                 .trained_parameters = memory.parameters().count(),
                 .checkpoint_bytes = memory.checkpoint_bytes(),
                 .step_costs = {},
                 .update_costs = {}};
  const auto add = [&](std::int64_t times) {
    for (std::size_t i = 0; i < plan.step_costs.size(); ++i) {
      const OperationCost& cost = backend.costs()[i];
      plan.step_costs[i].calls += cost.calls * times;
      plan.step_costs[i].flops += cost.flops * static_cast<double>(times);
      plan.step_costs[i].bytes += cost.bytes * static_cast<double>(times);
    }
    backend.forget_costs();
  };
  memory.train_micro_batch(1.0, 0, true);
  const bool first_differs = train.offload_gradients || train.products == Products::fp8;
  if (first_differs && train.gradient_accumulation > 1) {
    add(1);
    // Later micro-batches fetch gradients too, and find codes of weights made. Their buffers are
    // those of the first.
    TrainArenas again;
    TrainMemory(model, train, backend, again).train_micro_batch(1.0, 1, false);
    add(train.gradient_accumulation - 1);
  } else {
    add(train.gradient_accumulation);
  }
  memory.update(train.learning_rate, 1);
  plan.update_costs = backend.costs();
  add(1);
  memory.evaluate();
  {
    const ArenaScope scope(arenas.device);
    const TrainMemory::Decoding sample = memory.start_decoding();
    memory.decode(sample, sample.tokens.elements(), 0);
  }
  plan.memory = arenas.device.plan();
  plan.host = arenas.host.plan();
  plan.buffers = arenas.device.records();
  plan.host_buffers = arenas.host.records();
  plan.phases = arenas.device.phases();
  plan.moments = arenas.device.moments();
  return plan;
}

double TrainPlan::step_flops() const {
  return std::accumulate(step_costs.begin(), step_costs.end(), 0.0,
                         [](double sum, const OperationCost& cost) { return sum + cost.flops; });
}

double TrainPlan::step_bytes() const {
  return std::accumulate(step_costs.begin(), step_costs.end(), 0.0,
                         [](double sum, const OperationCost& cost) { return sum + cost.bytes; });
}

}  // namespace athanor
