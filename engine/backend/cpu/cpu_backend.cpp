// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/cpu_backend.h"

#include "engine/backend/cpu/targets.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "engine/backend/cpu/arguments.h"
#include "engine/backend/cpu/kernels.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"

namespace athanor {

namespace {

const std::vector<std::int64_t>& own_targets() {
  static const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  return targets;
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads) : context_(threads) {
    info_.name = processor_name();
    info_.threads = context_.pool().threads();
    info_.detail = std::to_string(info_.threads) +
                   (info_.threads == 1 ? " thread, " : " threads, ") +
                   instruction_set_label(hwy::TargetName(own_targets().front()));
  }

  const DeviceInfo& device() const override { return info_; }
  BackendTraits traits() const override { return {}; }
  bool supports(Operation operation, std::int64_t head_dim) const override {
    return !is_of_fp8(operation) && head_dim >= 0 && head_dim % 2 == 0 && head_dim <= kMaxHeadDim;
  }

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
  double sum_of_squares(const Tensor& x) override;

 private:
  void copy(const Tensor& to, const Tensor& from);

  cpu::Context context_;
  DeviceInfo info_;
};

/// What one task copies or clears.
constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 18;

void CpuBackend::copy(const Tensor& to, const Tensor& from) {
  const std::int64_t tasks = (to.bytes() + kCopiedBytes - 1) / kCopiedBytes;
  context_.pool().parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t first = task * kCopiedBytes;
    const std::int64_t count = std::min(kCopiedBytes, to.bytes() - first);
    std::memcpy(to.data + first, from.data + first, static_cast<std::size_t>(count));
  });
}

void CpuBackend::zero(const Tensor& tensor) {
  const std::int64_t tasks = (tensor.bytes() + kCopiedBytes - 1) / kCopiedBytes;
  context_.pool().parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t count = std::min(kCopiedBytes, tensor.bytes() - task * kCopiedBytes);
    std::memset(tensor.data + task * kCopiedBytes, 0, static_cast<std::size_t>(count));
  });
}

void CpuBackend::upload(const Tensor& to, std::span<const std::byte> from) {
  assert(static_cast<std::int64_t>(from.size()) == to.bytes());
  if (!from.empty()) std::memcpy(to.data, from.data(), from.size());
}

void CpuBackend::download(std::span<std::byte> to, const Tensor& from) {
  assert(static_cast<std::int64_t>(to.size()) == from.bytes());
  if (!to.empty()) std::memcpy(to.data(), from.data, to.size());
}

void CpuBackend::run(const Embedding& op) {
  assert(real(op.table, {op.table.rows(), op.out.shape[1]}));
  assert(real(op.out, {op.tokens.elements(), op.out.shape[1]}));
  assert(op.tokens.dtype == DType::i32);
  cpu::embedding(context_, op);
}

void CpuBackend::run(const EmbeddingBackward& op) {
  assert(real(op.d_table, {op.d_table.rows(), op.d_out.shape[1]}));
  assert(real(op.d_out, {op.tokens.elements(), op.d_out.shape[1]}));
  assert(op.d_table.dtype == DType::f32 || op.d_table.rows() < cpu::Context::kPackFloats);
  assert(op.tokens.dtype == DType::i32);
  cpu::embedding_backward(context_, op);
}

void CpuBackend::run(const AddNorm& op) {
  assert(!op.peak.present());
  [[maybe_unused]] const Shape shape = op.input.shape;
  assert(real(op.input, shape) && real(op.out, shape) && absent_or_real(op.branch, shape));
  assert(op.branch.present() == op.sum.present() && absent_or_real(op.sum, shape));
  assert(alike({&op.input, &op.branch, &op.sum, &op.out}));
  assert(real(op.weight, {shape[1]}) && is(op.rstd, {shape[0]}));
  assert(op.dropout.rate >= 0 && op.dropout.rate < 1);
  cpu::add_norm(context_, op);
}

void CpuBackend::run(const NormAgain& op) {
  assert(real(op.out, op.x.shape) && real(op.x, op.out.shape) && alike({&op.x, &op.out}));
  assert(real(op.weight, {op.x.shape[1]}) && is(op.rstd, {op.x.shape[0]}));
  cpu::norm_again(context_, op);
}

void CpuBackend::run(const AddNormBackward& op) {
  assert(!op.peak.present());
  [[maybe_unused]] const Shape shape = op.sum.shape;
  assert(real(op.d_out, shape) && real(op.sum, shape) && real(op.d_sum, shape));
  assert(absent_or_real(op.d_residual, shape) && absent_or_real(op.d_branch, shape));
  assert(alike({&op.d_out, &op.sum, &op.d_sum, &op.d_residual, &op.d_branch}));
  assert(real(op.weight, {shape[1]}) && is(op.rstd, {shape[0]}));
  assert(absent_or_real(op.d_weight, {shape[1]}) && is(op.scratch, {kReductionParts, shape[1]}));
  cpu::add_norm_backward(context_, op);
}

void CpuBackend::run(const Linear& op) {
  assert(real(op.x, {op.x.rows(), op.x.shape[1]}) && real(op.y, {op.x.rows(), op.y.shape[1]}));
  assert(real(op.weight, {op.y.shape[1], op.x.shape[1]}));
  assert(absent_or_real(op.bias, {op.y.shape[1]}));
  cpu::linear(context_, op);
}

void CpuBackend::run(const LinearBackward& op) {
  assert(real(op.x, {op.x.rows(), op.x.shape[1]}) && real(op.d_y, {op.x.rows(), op.d_y.shape[1]}));
  assert(real(op.weight, {op.d_y.shape[1], op.x.shape[1]}));
  assert(absent_or_real(op.d_weight, op.weight.shape));
  assert(absent_or_real(op.d_x, op.x.shape) && absent_or_real(op.d_bias, {op.d_y.shape[1]}));
  assert(absent_or_real(op.gelu_pre, op.d_x.shape));
  cpu::linear_backward(context_, op);
  if (!op.gelu_pre.present()) return;
  run(MlpActivationBackward{
      .activation = Activation::gelu, .pre = op.gelu_pre, .d_out = op.d_x, .d_pre = op.d_x});
}

void CpuBackend::run(const QuantisedEmbedding& op) {
  assert(op.table.has_rows_of(op.out.shape[1]) && op.tokens.dtype == DType::i32);
  assert(real(op.out, {op.tokens.elements(), op.out.shape[1]}));
  cpu::quantised_embedding(context_, op);
}

void CpuBackend::run(const QuantisedLinear& op) {
  [[maybe_unused]] const std::int64_t in = op.x.shape[1];
  [[maybe_unused]] const std::int64_t out = op.y.shape[1];
  assert(real(op.x, {op.x.rows(), in}) && real(op.y, {op.x.rows(), out}));
  assert(op.weight.has_rows_of(in) && op.weight.rows() == out && absent_or_real(op.bias, {out}));
  assert(op.scratch.bytes() >= quantised_linear_scratch_bytes(traits(), op.x.rows(), in, out));
  cpu::quantised_linear(context_, op);
}

void CpuBackend::run(const QuantisedLinearBackward& op) {
  [[maybe_unused]] const std::int64_t in = op.d_x.shape[1];
  [[maybe_unused]] const std::int64_t out = op.d_y.shape[1];
  assert(real(op.d_x, {op.d_y.rows(), in}) && real(op.d_y, {op.d_x.rows(), out}));
  assert(op.weight.has_rows_of(in) && op.weight.rows() == out);
  assert(op.scratch.bytes() >= quantised_backward_scratch_bytes(traits(), in, out));
  cpu::quantised_linear_backward(context_, op);
}

void CpuBackend::run(const Lora& op) {
  [[maybe_unused]] const std::int64_t rank = op.h.shape[1];
  assert(real(op.x, {op.x.rows(), op.x.shape[1]}) && real(op.a, {rank, op.x.shape[1]}));
  assert(real(op.b, {op.b.rows(), rank}) && absent_or_real(op.y, {op.x.rows(), op.y.shape[1]}));
  assert(!op.y.present() || op.first_column + op.b.rows() <= op.y.shape[1]);
  assert(real(op.h, {op.x.rows(), rank}) && alike({&op.x, &op.dropped, &op.h, &op.y}));
  assert(absent_or_real(op.dropped, op.x.shape) && op.dropped.present() == (op.dropout.rate > 0));
  cpu::lora(context_, op);
}

void CpuBackend::run(const LoraBackward& op) {
  [[maybe_unused]] const std::int64_t rank = op.h.shape[1];
  assert(real(op.x, {op.x.rows(), op.x.shape[1]}) && real(op.d_y, {op.x.rows(), op.d_y.shape[1]}));
  assert(real(op.a, {rank, op.x.shape[1]}) && real(op.b, {op.b.rows(), rank}));
  assert(op.first_column + op.b.rows() <= op.d_y.shape[1]);
  assert(real(op.h, {op.x.rows(), rank}) && real(op.d_h, op.h.shape));
  assert(real(op.d_a, op.a.shape) && real(op.d_b, op.b.shape) && alike({&op.d_a, &op.d_b}));
  assert(absent_or_real(op.d_x, op.x.shape) && absent_or_real(op.dropped, op.x.shape));
  assert(alike({&op.x, &op.dropped, &op.h, &op.d_y, &op.d_h, &op.d_x}));
  cpu::lora_backward(context_, op);
}

void CpuBackend::run(const QkNorm& op) {
  assert(usable(op.shape) && real(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(real(op.out, op.qkv.shape) && alike({&op.qkv, &op.out}));
  assert(real(op.q_weight, {op.shape.head_dim}) && real(op.k_weight, {op.shape.head_dim}));
  assert(alike({&op.q_weight, &op.k_weight}));
  assert(is(op.rstd, {op.qkv.rows(), op.shape.heads + op.shape.kv_heads}));
  cpu::qk_norm(context_, op);
}

void CpuBackend::run(const QkNormBackward& op) {
  assert(usable(op.shape) && real(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(real(op.d_qkv, op.qkv.shape) && alike({&op.qkv, &op.d_qkv}));
  assert(real(op.q_weight, {op.shape.head_dim}) && real(op.k_weight, {op.shape.head_dim}));
  assert(absent_or_real(op.d_q_weight, {op.shape.head_dim}));
  assert(absent_or_real(op.d_k_weight, {op.shape.head_dim}));
  assert(op.d_q_weight.present() == op.d_k_weight.present());
  assert(alike({&op.q_weight, &op.k_weight}) && alike({&op.d_q_weight, &op.d_k_weight}));
  assert(is(op.rstd, {op.qkv.rows(), op.shape.heads + op.shape.kv_heads}));
  assert(is(op.scratch, {kReductionParts, 2 * op.shape.head_dim}));
  cpu::qk_norm_backward(context_, op);
}

void CpuBackend::run(const Rope& op) {
  assert(usable(op.shape) && real(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(is(op.table, {op.table.rows(), op.shape.head_dim}));
  assert(op.first_position + std::min(op.shape.sequence, op.qkv.rows()) <= op.table.rows());
  cpu::rope(context_, op);
}

void CpuBackend::run(const Attention& op) {
  assert(!op.peak.present());
  assert(usable(op.shape) && real(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(op.qkv.rows() % op.shape.sequence == 0);
  assert(op.document_starts.elements() == op.qkv.rows() && op.document_starts.dtype == DType::i32);
  assert(real(op.out, {op.qkv.rows(), op.shape.query_width()}) && alike({&op.qkv, &op.out}));
  assert(is(op.lse, {op.qkv.rows(), op.shape.heads}));
  cpu::attention(context_, op);
}

void CpuBackend::run(const AttentionBackward& op) {
  assert(usable(op.shape) && real(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(op.qkv.rows() % op.shape.sequence == 0 && real(op.d_qkv, op.qkv.shape));
  assert(op.document_starts.elements() == op.qkv.rows() && op.document_starts.dtype == DType::i32);
  assert(real(op.out, {op.qkv.rows(), op.shape.query_width()}) && real(op.d_out, op.out.shape));
  assert(alike({&op.qkv, &op.d_qkv, &op.out, &op.d_out}));
  assert(is(op.lse, {op.qkv.rows(), op.shape.heads}));
  cpu::attention_backward(context_, op);
}

void CpuBackend::run(const DecodeAttention& op) {
  assert(usable(op.shape) && real(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(real(op.out, {op.qkv.rows(), op.shape.query_width()}) && alike({&op.qkv, &op.out}));
  assert(real(op.key_cache, {op.key_cache.rows(), op.shape.key_width()}));
  assert(real(op.value_cache, op.key_cache.shape) && alike({&op.key_cache, &op.value_cache}));
  assert(op.first_position + op.qkv.rows() <= op.key_cache.rows());
  cpu::decode_attention(context_, op);
}

void CpuBackend::run(const MlpActivation& op) {
  assert(!op.peak.present());
  [[maybe_unused]] const std::int64_t parts = op.activation == Activation::swiglu ? 2 : 1;
  assert(real(op.out, {op.out.rows(), op.out.shape[1]}));
  assert(real(op.pre, {op.out.rows(), op.out.shape[1] * parts}) && alike({&op.pre, &op.out}));
  cpu::mlp_activation(context_, op);
}

void CpuBackend::run(const MlpActivationBackward& op) {
  assert(!op.peak.present());
  [[maybe_unused]] const std::int64_t parts = op.activation == Activation::swiglu ? 2 : 1;
  assert(real(op.d_out, {op.d_out.rows(), op.d_out.shape[1]}));
  assert(real(op.pre, {op.d_out.rows(), op.d_out.shape[1] * parts}));
  assert(real(op.d_pre, op.pre.shape) && alike({&op.pre, &op.d_out, &op.d_pre}));
  cpu::mlp_activation_backward(context_, op);
}

void CpuBackend::run(const HeadLoss& op) {
  assert(real(op.x, {op.x.rows(), op.x.shape[1]}) && is(op.losses, {op.x.rows()}));
  assert(real(op.weight, {op.weight.rows(), op.x.shape[1]}));
  assert(op.targets.elements() == op.x.rows() && op.targets.dtype == DType::i32);
  assert(real(op.logits, {op.logits.rows(), op.weight.rows()}) && op.logits.rows() > 0);
  assert(absent_or_real(op.d_x, op.x.shape) && absent_or_real(op.d_weight, op.weight.shape));
  assert(op.d_x.present() || !op.d_weight.present());
  assert(!op.row_factors.present() || is(op.row_factors, {op.x.rows()}));
  cpu::head_loss(context_, op);
}

void CpuBackend::run(const AdamW& op) {
  [[maybe_unused]] const std::int64_t count = op.gradients.elements();
  assert(usable(op.to, count) && op.at.step >= 1);
  assert(op.gradients.dtype == DType::f32 || op.gradients.dtype == DType::bf16);
  assert(op.m.dtype == DType::f32 && op.m.elements() == count);
  assert(op.v.dtype == DType::f32 && op.v.elements() == count);
  cpu::adamw(context_, op);
}

void CpuBackend::run(const AdamW8& op) {
  [[maybe_unused]] const std::int64_t count = op.gradients.elements();
  assert(usable(op.to, count) && op.at.step >= 1);
  assert(op.gradients.dtype == DType::f32 || op.gradients.dtype == DType::bf16);
  assert(op.m.dtype == DType::u8 && op.m.elements() == count);
  assert(op.v.dtype == DType::u8 && op.v.elements() == count);
  assert(is(op.m_scale, {moment_blocks(count)}) && is(op.v_scale, {moment_blocks(count)}));
  cpu::adamw_8bit(context_, op);
}

void CpuBackend::run(const Muon& op) {
  [[maybe_unused]] const Shape shape = op.x.shape;
  [[maybe_unused]] const std::int64_t side = std::min(shape[0], shape[1]);
  assert(usable(op.to, op.x.elements()) && real(op.gradients, shape) && is(op.momentum, shape));
  assert(is(op.x, shape) && is(op.next, shape));
  assert(is(op.gram, {side, side}) && is(op.polynomial, {side, side}));
  cpu::muon(context_, op);
}

void CpuBackend::run(const FromHost& op) {
  assert(is(op.to, op.host.shape, op.host.dtype));
  copy(op.to, op.host);
}

void CpuBackend::run(const ToHost& op) {
  assert(is(op.host, op.from.shape, op.from.dtype));
  copy(op.host, op.from);
}

double CpuBackend::sum_of_squares(const Tensor& x) {
  assert(x.dtype == DType::f32 || x.dtype == DType::bf16);
  return cpu::sum_of_squares(context_, x);
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.2")) {
    throw Error(
        ErrorKind::unsupported,
        "This processor is too old: training needs one with SSE4.2 (made since about 2010).");
  }
#endif
  return std::make_unique<CpuBackend>(threads);
}

std::vector<std::string> cpu_instruction_sets() {
  std::vector<std::string> names;
  for (const std::int64_t target : own_targets())
    names.emplace_back(hwy::TargetName(target));
  return names;
}

std::string instruction_set_label(std::string_view name) {
  return name == "AVX3" ? "AVX-512" : std::string(name);
}

void force_cpu_instruction_set(const std::string& name) {
  std::int64_t chosen = 0;
  for (const std::int64_t target : own_targets()) {
    if (name == hwy::TargetName(target)) chosen = target;
  }
  if (chosen == 0 && !name.empty()) {
    throw Error(ErrorKind::unsupported,
                "This processor or this build has no kernels for \"" + name + "\".");
  }
  hwy::SetSupportedTargetsForTest(chosen);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace athanor
