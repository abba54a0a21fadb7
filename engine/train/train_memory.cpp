// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/train_memory.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace athanor {

TrainMemory::TrainMemory(const ModelConfig& model, const TrainConfig& train, Backend& backend,
                         Arena& arena)
    : train_(train),
      backend_(backend),
      arena_(arena),
      transformer_(model, backend, arena, model.context) {
  const std::int64_t flat = parameters().flat_elements();
  const std::int64_t tokens = train.micro_batch * model.context;
  const DType real = backend.compute_type();
  weights = arena.take(MemoryRole::weights, real, {flat}, {"weights"});
  gradients = arena.take(MemoryRole::gradients, real, {flat}, {"gradients"});
  optimizer_ = OptimizerState(parameters(), train.moments, real, arena);
  batch.tokens = arena.take(MemoryRole::batch, DType::i32, {tokens}, {"tokens"});
  batch.targets = arena.take(MemoryRole::batch, DType::i32, {tokens}, {"targets"});
  batch.document_starts = arena.take(MemoryRole::batch, DType::i32, {tokens}, {"document starts"});
  losses = arena.take(MemoryRole::batch, real, {tokens}, {"losses"});
}

void TrainMemory::train_micro_batch(double gradient_scale, std::uint64_t micro_step) {
  transformer_.train({.batch = batch,
                      .weights = weights,
                      .gradients = gradients,
                      .losses = losses,
                      .gradient_scale = gradient_scale,
                      .head_chunk_tokens = train_.head_chunk_tokens,
                      .recompute = {train_.recompute_level, train_.recompute_further_layers},
                      .dropout_seed = static_cast<std::uint64_t>(train_.seed),
                      .micro_step = micro_step},
                     arena_);
}

void TrainMemory::evaluate() {
  transformer_.evaluate(batch, weights, losses, train_.head_chunk_tokens, arena_);
}

double TrainMemory::update(double learning_rate, std::int64_t step) {
  arena_.begin(Phase::update);
  const double norm = std::sqrt(backend_.sum_of_squares(gradients));
  if (!std::isfinite(norm)) return norm;
  const double scale =
      train_.clip_norm > 0 && norm > train_.clip_norm ? train_.clip_norm / norm : 1.0;
  for (std::size_t i = 0; i < parameters().all().size(); ++i)
    update_parameter(i, learning_rate, scale, step);
  return norm;
}

void TrainMemory::update_parameter(std::size_t index, double learning_rate, double scale,
                                   std::int64_t step) {
  const ParameterTable& table = parameters();
  const ParameterMoments& moments = optimizer().of(index);
  const auto run = [&](auto op) {
    op.to.weights = table.view(weights, static_cast<int>(index));
    op.gradients = table.view(gradients, static_cast<int>(index));
    op.m = moments.m;
    op.v = moments.v;
    op.at = {
        .learning_rate = static_cast<float>(learning_rate),
        .beta1 = static_cast<float>(train_.beta1),
        .beta2 = static_cast<float>(train_.beta2),
        .epsilon = static_cast<float>(train_.epsilon),
        .decay = table.all()[index].decay ? static_cast<float>(train_.weight_decay) : 0.0F,
        .gradient_scale = static_cast<float>(scale),
        .step = step,
    };
    backend_.run(op);
  };
  if (moments.coded()) {
    AdamW8 op;
    op.m_scale = moments.m_scale;
    op.v_scale = moments.v_scale;
    run(op);
  } else {
    run(AdamW());
  }
}

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
}

TrainPlan plan_training(const ModelConfig& model, const TrainConfig& train, DType compute_type) {
  check_training(model, train);
  PlanBackend backend(compute_type);
  Arena arena;
  TrainMemory memory(model, train, backend, arena);
  memory.train_micro_batch(1.0, 0);
  const std::array<OperationCost, kOperations> micro_batch = backend.costs();
  memory.update(train.learning_rate, 1);
  TrainPlan plan{.parameters = memory.parameters().count(), .step_costs = backend.costs()};
  for (std::size_t i = 0; i < plan.step_costs.size(); ++i) {
    const std::int64_t more = train.gradient_accumulation - 1;
    plan.step_costs[i].calls += micro_batch[i].calls * more;
    plan.step_costs[i].flops += micro_batch[i].flops * static_cast<double>(more);
    plan.step_costs[i].bytes += micro_batch[i].bytes * static_cast<double>(more);
  }
  memory.evaluate();
  plan.memory = arena.plan();
  plan.buffers = arena.records();
  plan.phases = arena.phases();
  plan.moments = arena.moments();
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
