// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/cuda/cuda_backend.h"

/// The backend for its own sources: cuda_backend.cpp has memory, recording and updates,
/// cuda_backend_layers.cpp what layers are made of.
namespace athanor::cuda {

class CudaBackend : public Backend {
 public:
  CudaBackend(std::unique_ptr<Runtime> runtime, std::unique_ptr<Products> products)
      : runtime_(std::move(runtime)), products_(std::move(products)) {}

  const DeviceInfo& device() const override { return runtime_->device(); }
  BackendTraits traits() const override { return card_traits(runtime_->compute_capability()); }
  bool supports(Operation operation, std::int64_t head_dim) const override;

  Buffer allocate(std::int64_t bytes) override { return runtime_->allocate(bytes); }
  Buffer allocate_host(const std::filesystem::path& folder, std::int64_t bytes) override {
    return runtime_->allocate_host(folder, bytes);
  }
  void use_workspace(const Tensor& workspace) override;
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  std::string take_notice() override;
  void tune(bool on) override { products_->tune(on); }
  void wait() override { runtime_->wait(); }

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
  /// What the stream is given next may touch these.
  void use(std::initializer_list<const Tensor*> tensors) {
    for (const Tensor* tensor : tensors) {
      if (tensor->present()) runtime_->await_copies(tensor->data, tensor->bytes());
    }
  }
  void use(const StoredWeights& to) { use({&to.weights, &to.master, &to.low_bits}); }
  /// Checks the arguments, and waits for copies of them.
  void make_ready(const Linear& op);
  void make_ready(const LinearBackward& op);
  Stream stream() const { return runtime_->stream(); }

  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Products> products_;
  Tensor workspace_;
  bool records_ = true;
  std::string notice_;
};

}  // namespace athanor::cuda
