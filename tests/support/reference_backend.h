// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/backend.h"

namespace athanor {

/// Every operation in double precision, as plain loops over its definition: no tiles, whole softmax
/// rows. The measure of the other backends, and slow: for tiny shapes. All real tensors are f64.
class ReferenceBackend : public Backend {
 public:
  const DeviceInfo& device() const override { return device_; }
  BackendTraits traits() const override { return {.compute_type = DType::f64, .fp8 = true}; }
  bool supports(Operation, std::int64_t) const override { return true; }

  void zero(const Tensor& tensor) override;
  void upload(const Tensor& to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const Tensor& from) override;

  void run(const Embedding& op) override;
  void run(const EmbeddingBackward& op) override;
  void run(const AddNorm& op) override;
  void run(const NormAgain& op) override;
  void run(const AddNormBackward& op) override;
  void run(const Linear& op) override;
  void run(const LinearBackward& op) override;
  void run(const QuantisedEmbedding& op) override;
  void run(const QuantisedLinear& op) override;
  void run(const QuantisedLinearBackward& op) override;
  void run(const Lora& op) override;
  void run(const LoraBackward& op) override;
  void run(const QkNorm& op) override;
  void run(const QkNormBackward& op) override;
  void run(const Rope& op) override;
  void run(const Attention& op) override;
  void run(const AttentionBackward& op) override;
  void run(const DecodeAttention& op) override;
  void run(const MlpActivation& op) override;
  void run(const MlpActivationBackward& op) override;
  void run(const HeadLoss& op) override;
  void run(const AdamW& op) override;
  void run(const AdamW8& op) override;
  void run(const Muon& op) override;
  void run(const FromHost& op) override;
  void run(const ToHost& op) override;
  void run(const Peak& op) override;
  void run(const Quantise& op) override;
  void run(const LinearFp8& op) override;
  void run(const LinearBackwardFp8& op) override;
  double sum_of_squares(const Tensor& x) override;

  /// HeadLoss from logits [N, V] that are given, instead of from x · weightᵀ.
  void run_from_logits(const HeadLoss& op, const Tensor& logits);
  static double element_of(const QuantisedMatrix& matrix, std::int64_t row, std::int64_t column);
  /// Lora's y from an h that is given, and LoraBackward's d_a and d_x from a d_h.
  static void add_from_h(const Lora& op, const Tensor& h);
  static void add_from_d_h(const LoraBackward& op, const Tensor& d_h);
  /// What a dropped or kept element is multiplied by.
  static double dropout_factor(const Dropout& dropout, std::int64_t element);
  /// The number that AdamW goes on from, and what it stores of it: all of it, since here weights
  /// are not rounded.
  static double stored_number(const StoredWeights& to, std::int64_t index);
  static void store_number(const StoredWeights& to, std::int64_t index, double number);

 private:
  /// Does nothing where no peak is wanted.
  static void raise_peak(const Tensor& peak, const Tensor& of);

  DeviceInfo device_{"reference", "double precision, 1 thread", 1};
};

}  // namespace athanor
