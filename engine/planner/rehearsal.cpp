// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/rehearsal.h"

#include <algorithm>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/machine.h"

namespace athanor {
namespace {

/// Ids spread over the vocabulary, as a text's are.
void fill_batch(Backend& backend, const Transformer::Batch& batch, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(batch.tokens.elements()));
  std::uint64_t state = 1;
  for (std::int32_t& id : ids) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    id = static_cast<std::int32_t>((state >> 33) % static_cast<std::uint64_t>(vocabulary));
  }
  backend.upload(batch.tokens, std::as_bytes(std::span(ids)));
  backend.upload(batch.targets, std::as_bytes(std::span(ids)));
  backend.zero(batch.document_starts);
}

}  // namespace

Rehearsal rehearse(const ModelConfig& model, const TrainConfig& train, Backend& backend,
                   const std::filesystem::path& folder, const CancelToken& cancel) {
  const TrainPlan plan = plan_training(model, train, backend.traits());
  const std::int64_t before_bytes = resident_bytes();
  TrainArenas arenas(plan, backend, folder);
  TrainMemory memory(model, train, backend, arenas);
  for (const Tensor& kept : {memory.weights, memory.master, memory.low_bits})
    memory.clear(kept);
  for (const Tensor& moments : memory.optimizer().flat())
    memory.clear(moments);
  fill_batch(backend, memory.batch, model.vocabulary);
  memory.train_micro_batch(1, 0, true);
  memory.record_micro_batches();
  backend.wait();
  cancel.throw_if_requested();
  const Stopwatch micro_batch;
  memory.train_micro_batch(1, 1, train.gradient_accumulation == 1);
  backend.wait();
  const double micro_batch_seconds = micro_batch.seconds();
  cancel.throw_if_requested();
  const Stopwatch update;
  memory.update(train.learning_rate, 1);
  backend.wait();
  const double update_seconds = update.seconds();
  memory.evaluate();

  Rehearsal result{.planned_bytes = plan.memory.peak_bytes,
                   .taken_bytes = arenas.device.plan().peak_bytes};
  result.outside_bytes =
      std::max<std::int64_t>(0, resident_bytes() - before_bytes - plan.memory.peak_bytes);
  result.step_seconds =
      micro_batch_seconds * static_cast<double>(train.gradient_accumulation) + update_seconds;
  result.tokens_per_second =
      static_cast<double>(train.tokens_per_step(model.context)) / result.step_seconds;
  return result;
}

}  // namespace athanor
