// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>

#include "engine/backend/backend.h"

namespace athanor {

/// Floating-point operations and bytes read and written by each kind of operation.
struct OperationCost {
  std::int64_t calls = 0;
  double flops = 0;
  double bytes = 0;
};

/// The dry run: does nothing but count. Tensors have shapes and no data.
class PlanBackend : public Backend {
 public:
  /// Counts for a backend of these traits.
  explicit PlanBackend(const BackendTraits& traits = {});

  const OperationCost& cost(Operation operation) const;
  const std::array<OperationCost, kOperations>& costs() const { return costs_; }
  OperationCost total() const;
  void forget_costs() { costs_ = {}; }

  const DeviceInfo& device() const override { return device_; }
  BackendTraits traits() const override { return traits_; }
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

 private:
  void count(Operation operation, double flops, double bytes);

  DeviceInfo device_;
  BackendTraits traits_;
  std::array<OperationCost, kOperations> costs_;
};

}  // namespace athanor
