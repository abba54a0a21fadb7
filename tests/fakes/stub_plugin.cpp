// SPDX-License-Identifier: GPL-3.0-or-later
// A CUDA plug-in without CUDA: its card is the processor under another name.
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/plugin.h"
#include "engine/base/error.h"
#include "tests/fakes/fake_answers.h"

#ifndef ATHANOR_STUB_VERSION
#define ATHANOR_STUB_VERSION athanor::kPluginVersion
#endif

namespace athanor {
namespace {

class PretendedCard : public Backend {
 public:
  explicit PretendedCard(int index)
      : inner_(make_cpu_backend(1)),
        info_{.name = "Pretended card " + std::to_string(index), .detail = "on the processor"} {}

  const DeviceInfo& device() const override { return info_; }
  BackendTraits traits() const override { return inner_->traits(); }
  bool supports(Operation operation, std::int64_t head_dim) const override {
    return inner_->supports(operation, head_dim);
  }
  void zero(const Tensor& tensor) override { inner_->zero(tensor); }
  void upload(const Tensor& to, std::span<const std::byte> from) override {
    inner_->upload(to, from);
  }
  void download(std::span<std::byte> to, const Tensor& from) override {
    inner_->download(to, from);
  }
  void run(const Embedding& op) override { inner_->run(op); }
  void run(const EmbeddingBackward& op) override { inner_->run(op); }
  void run(const AddNorm& op) override { inner_->run(op); }
  void run(const NormAgain& op) override { inner_->run(op); }
  void run(const AddNormBackward& op) override { inner_->run(op); }
  void run(const Linear& op) override { inner_->run(op); }
  void run(const LinearBackward& op) override { inner_->run(op); }
  void run(const QuantisedEmbedding& op) override { inner_->run(op); }
  void run(const QuantisedLinear& op) override { inner_->run(op); }
  void run(const QuantisedLinearBackward& op) override { inner_->run(op); }
  void run(const Lora& op) override { inner_->run(op); }
  void run(const LoraBackward& op) override { inner_->run(op); }
  void run(const QkNorm& op) override { inner_->run(op); }
  void run(const QkNormBackward& op) override { inner_->run(op); }
  void run(const Rope& op) override { inner_->run(op); }
  void run(const Attention& op) override { inner_->run(op); }
  void run(const AttentionBackward& op) override { inner_->run(op); }
  void run(const DecodeAttention& op) override { inner_->run(op); }
  void run(const MlpActivation& op) override { inner_->run(op); }
  void run(const MlpActivationBackward& op) override { inner_->run(op); }
  void run(const HeadLoss& op) override { inner_->run(op); }
  void run(const AdamW& op) override { inner_->run(op); }
  void run(const AdamW8& op) override { inner_->run(op); }
  void run(const Muon& op) override { inner_->run(op); }
  void run(const FromHost& op) override { inner_->run(op); }
  void run(const ToHost& op) override { inner_->run(op); }
  double sum_of_squares(const Tensor& x) override { return inner_->sum_of_squares(x); }

 private:
  std::unique_ptr<Backend> inner_;
  DeviceInfo info_;
};

std::unique_ptr<Backend> make(int card_index) {
  const std::string refusal = fake::answer("refusal");
  if (!refusal.empty()) throw Error(ErrorKind::unsupported, refusal, "pretended");
  return std::make_unique<PretendedCard>(card_index);
}

}  // namespace
}  // namespace athanor

extern "C" {
const athanor::CudaPlugin* athanor_cuda_plugin() {
  static constexpr athanor::CudaPlugin plugin{ATHANOR_STUB_VERSION, athanor::make};
  return &plugin;
}
}
