// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/backend/operations.h"
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
  from_host,
  to_host,
};
inline constexpr int kOperations = 21;
constexpr std::array<std::string_view, kOperations> names_of(Operation) {
  return {"embedding",
          "embedding_backward",
          "add_norm",
          "norm_again",
          "add_norm_backward",
          "linear",
          "linear_backward",
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
          "from_host",
          "to_host"};
}

struct DeviceInfo {
  std::string name;    ///< "AMD Ryzen 7 5800X"
  std::string detail;  ///< "8 threads, AVX2"
  int threads = 1;
};

/// What executes the training step. The step is written once against this interface; a dry run on
/// the plan backend counts what the others then do. Calls return when their outputs may be read by
/// the next call; download() and sum_of_squares() return when the value is there. One thread uses a
/// backend at a time. Shapes are the caller's duty and asserted; nothing here allocates.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceInfo& device() const = 0;
  /// In what it computes; the type of real tensors but for those that may be bf16.
  virtual DType compute_type() const = 0;
  /// Whether `operation` runs here for heads of `head_dim` elements (0 where there are none).
  virtual bool supports(Operation operation, std::int64_t head_dim) const = 0;

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
  virtual void run(const FromHost& op) = 0;
  virtual void run(const ToHost& op) = 0;
  /// Σ x², reduced in double precision in a fixed order.
  virtual double sum_of_squares(const Tensor& x) = 0;
};

}  // namespace athanor
