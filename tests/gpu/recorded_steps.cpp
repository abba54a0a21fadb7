// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/recorded_steps.h"

#include <cmath>
#include <vector>

#include "engine/base/philox.h"
#include "engine/train/train_memory.h"

namespace athanor {
namespace {

constexpr std::int64_t kSteps = 3;

ModelConfig small_model() {
  return {.vocabulary = 300,
          .layers = 2,
          .width = 64,
          .heads = 2,
          .kv_heads = 1,
          .ffn = 96,
          .context = 32,
          .activation = Activation::gelu,
          .biases = true,
          .qk_norm = true,
          .dropout = 0.1};
}

/// A run of a few steps, from the same start each time.
class Steps {
 public:
  explicit Steps(Backend& backend)
      : train_(suited_to(backend.traits(),
                         {.micro_batch = 2, .gradient_accumulation = 2, .head_chunk_tokens = 32})),
        backend_(backend),
        arenas_(plan_training(small_model(), train_, backend.traits()), backend, {}),
        memory_(small_model(), train_, backend, arenas_) {
    // Only what has run once is sure to be loaded.
    backend.tune(true);
    memory_.train_micro_batch(0, 0, true);
    backend.tune(false);
    const auto& all = memory_.parameters().all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int index = static_cast<int>(i);
      memory_.set_weights(index, initial_values(all[i], index, 1));
    }
    for (const Tensor& moments : memory_.optimizer().flat())
      memory_.clear(moments);
    backend.zero(memory_.batch.document_starts);
  }

  bool record() { return memory_.record_micro_batches(); }

  /// Of all losses and gradient norms, and of the weights at last.
  std::vector<std::byte> bits(Stale stale) {
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (std::int64_t micro = 0; micro < train_.gradient_accumulation; ++micro) {
        const std::int64_t count = step * train_.gradient_accumulation + micro;
        upload_ids(static_cast<std::uint64_t>(count));
        const std::int64_t scaled = stale == Stale::gradient_scale ? 0 : count;
        const std::int64_t dropped = stale == Stale::micro_step ? 0 : count;
        memory_.train_micro_batch(1.0 / static_cast<double>(100 + scaled),
                                  static_cast<std::uint64_t>(dropped), micro == 0);
        keep(memory_.losses);
      }
      const double norm = memory_.update(1e-3, step + 1);
      const auto bytes = std::as_bytes(std::span(&norm, 1));
      bits_.insert(bits_.end(), bytes.begin(), bytes.end());
      memory_.evaluate();
      keep(memory_.losses);
    }
    keep(memory_.weights);
    return bits_;
  }

 private:
  void upload_ids(std::uint64_t stream) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(memory_.batch.tokens.elements()));
    const Philox random(2, stream);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<std::int32_t>(random.word(i) % 300);
    backend_.upload(memory_.batch.tokens, std::as_bytes(std::span(ids)));
    backend_.upload(memory_.batch.targets, std::as_bytes(std::span(ids)));
  }

  void keep(const Tensor& tensor) {
    const std::size_t before = bits_.size();
    bits_.resize(before + static_cast<std::size_t>(tensor.bytes()));
    backend_.download(std::span(bits_).subspan(before), tensor);
  }

  TrainConfig train_;
  Backend& backend_;
  TrainArenas arenas_;
  TrainMemory memory_;
  std::vector<std::byte> bits_;
};

}  // namespace

std::string problem_of_recording(Backend& backend, Stale stale) {
  const std::vector<std::byte> launched = Steps(backend).bits(Stale::nothing);
  Steps steps(backend);
  if (!steps.record()) return "nothing was recorded: " + backend.take_notice();
  return steps.bits(stale) == launched ? "" : "recorded steps have other bits than launched ones";
}

}  // namespace athanor
