// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fakes/opaque_card.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <utility>

namespace athanor {
namespace {

/// All memory that was given out. A buffer may outlive its backend, and is released by a plain
/// function: so there is one of these for the library.
class Vault {
 public:
  static Vault& one() {
    static Vault vault;
    return vault;
  }

  std::byte* keep(Buffer buffer) {
    const std::scoped_lock lock(mutex_);
    std::byte* data = buffer.data();
    protect(buffer, users_ > 0);
    buffers_[data] = std::move(buffer);
    return data;
  }
  void release(std::byte* data) {
    const std::scoped_lock lock(mutex_);
    // The system gives the same pages to the next who asks.
    protect(buffers_.at(data), true);
    buffers_.erase(data);
  }
  void enter() {
    const std::scoped_lock lock(mutex_);
    if (users_++ == 0) protect_all(true);
  }
  void leave() {
    const std::scoped_lock lock(mutex_);
    if (--users_ == 0) protect_all(false);
  }

 private:
  static void protect(const Buffer& buffer, bool open) {
    ::mprotect(buffer.data(), static_cast<std::size_t>(buffer.bytes()),
               open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  void protect_all(bool open) {
    for (const auto& [data, buffer] : buffers_)
      protect(buffer, open);
  }

  std::mutex mutex_;
  std::map<std::byte*, Buffer> buffers_;
  int users_ = 0;
};

/// While it lives, memory is open.
class Visit {
 public:
  Visit() { Vault::one().enter(); }
  ~Visit() { Vault::one().leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

class OpaqueRecording : public Recording {
 public:
  explicit OpaqueRecording(std::unique_ptr<Recording> inner) : inner_(std::move(inner)) {}
  void replay() override {
    const Visit visit;
    inner_->replay();
  }

 private:
  std::unique_ptr<Recording> inner_;
};

class OpaqueCard : public Backend {
 public:
  explicit OpaqueCard(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  const DeviceInfo& device() const override { return inner_->device(); }
  BackendTraits traits() const override { return inner_->traits(); }
  bool supports(Operation operation, std::int64_t head_dim) const override {
    return inner_->supports(operation, head_dim);
  }
  Buffer allocate(std::int64_t bytes) override {
    std::byte* data = Vault::one().keep(inner_->allocate(bytes));
    return {data, bytes, [](std::byte* taken, std::int64_t) { Vault::one().release(taken); }};
  }
  Buffer allocate_host(const std::filesystem::path& folder, std::int64_t bytes) override {
    return inner_->allocate_host(folder, bytes);
  }
  void use_workspace(const Tensor& workspace) override { inner_->use_workspace(workspace); }
  void tune(bool on) override { inner_->tune(on); }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    std::unique_ptr<Recording> recording = inner_->record(work);
    if (recording == nullptr) return nullptr;
    return std::make_unique<OpaqueRecording>(std::move(recording));
  }
  std::string take_notice() override { return inner_->take_notice(); }
  void wait() override { inner_->wait(); }

  void zero(const Tensor& tensor) override {
    const Visit visit;
    inner_->zero(tensor);
  }
  void upload(const Tensor& to, std::span<const std::byte> from) override {
    const Visit visit;
    inner_->upload(to, from);
  }
  void download(std::span<std::byte> to, const Tensor& from) override {
    const Visit visit;
    inner_->download(to, from);
  }
  void run(const Embedding& op) override { pass_on(op); }
  void run(const EmbeddingBackward& op) override { pass_on(op); }
  void run(const AddNorm& op) override { pass_on(op); }
  void run(const NormAgain& op) override { pass_on(op); }
  void run(const AddNormBackward& op) override { pass_on(op); }
  void run(const Linear& op) override { pass_on(op); }
  void run(const LinearBackward& op) override { pass_on(op); }
  void run(const QuantisedEmbedding& op) override { pass_on(op); }
  void run(const QuantisedLinear& op) override { pass_on(op); }
  void run(const QuantisedLinearBackward& op) override { pass_on(op); }
  void run(const Lora& op) override { pass_on(op); }
  void run(const LoraBackward& op) override { pass_on(op); }
  void run(const QkNorm& op) override { pass_on(op); }
  void run(const QkNormBackward& op) override { pass_on(op); }
  void run(const Rope& op) override { pass_on(op); }
  void run(const Attention& op) override { pass_on(op); }
  void run(const AttentionBackward& op) override { pass_on(op); }
  void run(const DecodeAttention& op) override { pass_on(op); }
  void run(const MlpActivation& op) override { pass_on(op); }
  void run(const MlpActivationBackward& op) override { pass_on(op); }
  void run(const HeadLoss& op) override { pass_on(op); }
  void run(const AdamW& op) override { pass_on(op); }
  void run(const AdamW8& op) override { pass_on(op); }
  void run(const Muon& op) override { pass_on(op); }
  void run(const FromHost& op) override { pass_on(op); }
  void run(const ToHost& op) override { pass_on(op); }
  void run(const Peak& op) override { pass_on(op); }
  void run(const Quantise& op) override { pass_on(op); }
  void run(const LinearFp8& op) override { pass_on(op); }
  void run(const LinearBackwardFp8& op) override { pass_on(op); }
  double sum_of_squares(const Tensor& x) override {
    const Visit visit;
    return inner_->sum_of_squares(x);
  }

 private:
  template <class Arguments>
  void pass_on(const Arguments& op) {
    const Visit visit;
    inner_->run(op);
  }

  std::unique_ptr<Backend> inner_;
};

}  // namespace

std::unique_ptr<Backend> make_opaque(std::unique_ptr<Backend> inner) {
  return std::make_unique<OpaqueCard>(std::move(inner));
}

}  // namespace athanor
