// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/backend/operations.h"
#include "engine/base/error.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// Every operation of the step, for support reports, cost counts and the tests' table.
enum class Operation {
  embedding,
  embedding_backward,
  add_norm,
  norm_again,
  add_norm_backward,
  linear,
  linear_backward,
  quantised_embedding,
  quantised_linear,
  quantised_linear_backward,
  lora,
  lora_backward,
  qk_norm,
  qk_norm_backward,
  rope,
  attention,
  attention_backward,
  decode_attention,
  mlp_activation,
  mlp_activation_backward,
  head_loss,
  sum_of_squares,
  adamw,
  adamw_8bit,
  muon,
  from_host,
  to_host,
  peak,
  quantise,
  linear_fp8,
  linear_backward_fp8,
};
inline constexpr int kOperations = 31;
constexpr std::array<std::string_view, kOperations> names_of(Operation) {
  return {"embedding",
          "embedding_backward",
          "add_norm",
          "norm_again",
          "add_norm_backward",
          "linear",
          "linear_backward",
          "quantised_embedding",
          "quantised_linear",
          "quantised_linear_backward",
          "lora",
          "lora_backward",
          "qk_norm",
          "qk_norm_backward",
          "rope",
          "attention",
          "attention_backward",
          "decode_attention",
          "mlp_activation",
          "mlp_activation_backward",
          "head_loss",
          "sum_of_squares",
          "adamw",
          "adamw_8bit",
          "muon",
          "from_host",
          "to_host",
          "peak",
          "quantise",
          "linear_fp8",
          "linear_backward_fp8"};
}

/// Whether it runs only where BackendTraits::fp8 says so.
constexpr bool is_of_fp8(Operation operation) {
  return operation == Operation::peak || operation == Operation::quantise ||
         operation == Operation::linear_fp8 || operation == Operation::linear_backward_fp8;
}

struct DeviceInfo {
  std::string name;    ///< "AMD Ryzen 7 5800X"
  std::string detail;  ///< "8 threads, AVX2"
  int threads = 1;
};

/// What a backend asks of everything that lays out memory for it.
struct BackendTraits {
  /// In what it computes; the type of real tensors but for those that may be bf16.
  DType compute_type = DType::f32;
  /// Whether rows of values and weights must be bf16: cards multiply nothing else fast.
  bool bf16_only = false;
  /// Rows of the scratch for sums over rows: parts that are reduced apart, in a fixed order.
  std::int64_t reduction_parts = kReductionParts;
  /// Of the memory it must be given by use_workspace() before it runs.
  std::int64_t workspace_bytes = 0;
  /// The widest rows that norms take.
  std::int64_t most_width = std::numeric_limits<std::int64_t>::max();
  /// Rows up to which a quantised weight is multiplied as it is (QuantisedLinear).
  std::int64_t few_quantised_rows = std::numeric_limits<std::int64_t>::max();
  /// Whether tune() is worth a micro-batch before the first step.
  bool tunes = false;
  /// Whether LinearBackward's gelu_pre is part of its product, and no pass over d_x of its own.
  bool gelu_in_products = false;
  /// Whether it runs the operations of FP8.
  bool fp8 = false;
};

/// Work that a backend recorded; goes before the backend does.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Does it once more, on what its tensors hold now. Allocates nothing.
  virtual void replay() = 0;
};

/// Of QuantisedLinear for `rows` rows of x and a weight [out, in].
constexpr std::int64_t quantised_linear_scratch_bytes(const BackendTraits& traits,
                                                      std::int64_t rows, std::int64_t in,
                                                      std::int64_t out) {
  if (rows > traits.few_quantised_rows) return out * in * size_of(DType::bf16);
  constexpr std::int64_t kCode_bytes = 2;
  return rows * (in * kCode_bytes + in / kBlock_elements * size_of(DType::f32));
}

/// Columns of a weight that QuantisedLinearBackward widens at a time, where it does so to FP32.
inline constexpr std::int64_t kWidenedColumns = 512;

/// Of QuantisedLinearBackward for a weight [out, in].
constexpr std::int64_t quantised_backward_scratch_bytes(const BackendTraits& traits,
                                                        std::int64_t in, std::int64_t out) {
  if (traits.bf16_only) return out * in * size_of(DType::bf16);
  return out * (in < kWidenedColumns ? in : kWidenedColumns) * size_of(DType::f32);
}

/// What executes the training step. The step is written once against this interface; a dry run on
/// the plan backend counts what the others then do. Calls return when their outputs may be read by
/// the next call; download() and sum_of_squares() return when the value is there. One thread uses a
/// backend at a time. Shapes are the caller's duty and asserted; nothing here allocates.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceInfo& device() const = 0;
  virtual BackendTraits traits() const = 0;
  DType compute_type() const { return traits().compute_type; }
  /// Whether `operation` runs here for heads of `head_dim` elements (0 where there are none).
  virtual bool supports(Operation operation, std::int64_t head_dim) const = 0;

  /// Zeroed memory that tensors of operations may lie in. Throws io when there is too little.
  virtual Buffer allocate(std::int64_t bytes) { return Buffer(bytes); }
  /// Memory for what is offloaded, which this process can read; where it is a file, one of
  /// `folder`. Throws io when there is too little.
  virtual Buffer allocate_host(const std::filesystem::path& folder, std::int64_t bytes) {
    return Buffer::in_file(folder, bytes);
  }
  /// Memory of traits().workspace_bytes that operations may write to in between.
  virtual void use_workspace(const Tensor&) {}
  /// While on, what runs has no meaning but finds out how its kind and shape run fastest.
  virtual void tune(bool) {}
  /// What `work` gives to this backend, operations and zero() alone, without doing any of it; null
  /// where that gains nothing or does not succeed. Its arguments, tensors and the workspace are
  /// those of now: what is to change from one replay to the next must lie in tensors.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& /*work*/) {
    return nullptr;
  }
  /// A sentence for a person about something that went otherwise than usual, once; mostly empty.
  virtual std::string take_notice() { return {}; }
  /// Returns when all that was called is done: what measures time must know.
  virtual void wait() {}

  virtual void zero(const Tensor& tensor) = 0;
  /// Host bytes to the tensor and back; sizes equal.
  virtual void upload(const Tensor& to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, const Tensor& from) = 0;

  virtual void run(const Embedding& op) = 0;
  virtual void run(const EmbeddingBackward& op) = 0;
  virtual void run(const AddNorm& op) = 0;
  virtual void run(const NormAgain& op) = 0;
  virtual void run(const AddNormBackward& op) = 0;
  virtual void run(const Linear& op) = 0;
  virtual void run(const LinearBackward& op) = 0;
  virtual void run(const QuantisedEmbedding& op) = 0;
  virtual void run(const QuantisedLinear& op) = 0;
  virtual void run(const QuantisedLinearBackward& op) = 0;
  virtual void run(const Lora& op) = 0;
  virtual void run(const LoraBackward& op) = 0;
  virtual void run(const QkNorm& op) = 0;
  virtual void run(const QkNormBackward& op) = 0;
  virtual void run(const Rope& op) = 0;
  virtual void run(const Attention& op) = 0;
  virtual void run(const AttentionBackward& op) = 0;
  virtual void run(const DecodeAttention& op) = 0;
  virtual void run(const MlpActivation& op) = 0;
  virtual void run(const MlpActivationBackward& op) = 0;
  virtual void run(const HeadLoss& op) = 0;
  virtual void run(const AdamW& op) = 0;
  virtual void run(const AdamW8& op) = 0;
  virtual void run(const Muon& op) = 0;
  virtual void run(const FromHost& op) = 0;
  virtual void run(const ToHost& op) = 0;
  // Of FP8: called only where traits().fp8 says so.
  virtual void run(const Peak&) { throw_no_fp8(); }
  virtual void run(const Quantise&) { throw_no_fp8(); }
  virtual void run(const LinearFp8&) { throw_no_fp8(); }
  virtual void run(const LinearBackwardFp8&) { throw_no_fp8(); }
  /// Σ x², reduced in double precision in a fixed order.
  virtual double sum_of_squares(const Tensor& x) = 0;

 private:
  [[noreturn]] void throw_no_fp8() const {
    throw Error(ErrorKind::internal, "FP8 was asked of a device without it.", device().name);
  }
};

}  // namespace athanor
