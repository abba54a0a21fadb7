// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/plan/plan_backend.h"

#include <initializer_list>

#include "engine/backend/newton_schulz.h"

namespace athanor {
namespace {

/// Bytes of tensors that are each read or written once; absent ones have none.
double bytes_of(std::initializer_list<Tensor> tensors) {
  std::int64_t total = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.present()) total += tensor.bytes();
  }
  return static_cast<double>(total);
}

/// Accumulated outputs are read and written.
double accumulated_bytes(std::initializer_list<Tensor> tensors) {
  return 2 * bytes_of(tensors);
}

double product_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// Weights with a master are written only.
double update_bytes(const StoredWeights& to) {
  const double weights = bytes_of({to.weights});
  return (to.master.present() ? weights : 2 * weights) +
         accumulated_bytes({to.master, to.low_bits});
}

double elements_of(const Tensor& tensor) {
  return static_cast<double>(tensor.elements());
}

/// Bytes of the table rows that `tokens` select, each counted as often as it is used.
double gathered_bytes(const Tensor& table, const Tensor& tokens) {
  return elements_of(tokens) * static_cast<double>(table.row_elements() * size_of(table.dtype));
}

/// Bytes of some columns of a matrix.
double part_bytes(const Tensor& matrix, std::int64_t columns) {
  return static_cast<double>(matrix.rows() * columns * size_of(matrix.dtype));
}

/// Scores and weighted values over the visible half of each sequence. Document starts shorten this
/// further, which is not known before the data is.
double attention_flops(const AttentionShape& shape, std::int64_t rows) {
  const double products = 2 * product_flops(rows, shape.query_width(), shape.sequence);
  return products / 2;
}

/// Operations an element of the pre-activation or of its gradient costs, exponentials counted as
/// one.
constexpr double kActivation_flops = 8;
constexpr double kActivation_backward_flops = 2 * kActivation_flops;
constexpr double kNorm_flops = 5;
constexpr double kScale_flops = 2;
constexpr double kNorm_backward_flops = 10;
constexpr double kRotation_flops = 3;
constexpr double kSoftmax_flops = 4;
constexpr double kAdamw_flops = 15;
/// Beside the products.
constexpr double kMuon_flops = 14;
/// Scales and two searches.
constexpr double kMoment_code_flops = 20;
/// The backward direction makes five products where the forward direction makes two.
constexpr double kAttention_backward_ratio = 2.5;

}  // namespace

PlanBackend::PlanBackend(const BackendTraits& traits)
    : device_{"plan", "counts without computing", 1}, traits_(traits) {}

const OperationCost& PlanBackend::cost(Operation operation) const {
  return costs_[static_cast<std::size_t>(operation)];
}

OperationCost PlanBackend::total() const {
  OperationCost sum;
  for (const OperationCost& cost : costs_) {
    sum.calls += cost.calls;
    sum.flops += cost.flops;
    sum.bytes += cost.bytes;
  }
  return sum;
}

void PlanBackend::count(Operation operation, double flops, double bytes) {
  OperationCost& cost = costs_[static_cast<std::size_t>(operation)];
  ++cost.calls;
  cost.flops += flops;
  cost.bytes += bytes;
}

void PlanBackend::zero(const Tensor&) {}

void PlanBackend::upload(const Tensor&, std::span<const std::byte>) {}

void PlanBackend::download(std::span<std::byte>, const Tensor&) {}

void PlanBackend::run(const Embedding& op) {
  count(Operation::embedding, 0,
        gathered_bytes(op.table, op.tokens) + bytes_of({op.tokens, op.out}));
}

void PlanBackend::run(const EmbeddingBackward& op) {
  count(Operation::embedding_backward, elements_of(op.d_out),
        bytes_of({op.d_out, op.tokens}) + 2 * gathered_bytes(op.d_table, op.tokens));
}

void PlanBackend::run(const AddNorm& op) {
  count(Operation::add_norm, kNorm_flops * elements_of(op.out),
        bytes_of({op.input, op.branch, op.weight, op.sum, op.out, op.rstd}));
}

void PlanBackend::run(const NormAgain& op) {
  count(Operation::norm_again, kScale_flops * elements_of(op.out),
        bytes_of({op.x, op.rstd, op.weight, op.out}));
}

void PlanBackend::run(const AddNormBackward& op) {
  count(Operation::add_norm_backward, kNorm_backward_flops * elements_of(op.d_sum),
        bytes_of({op.d_out, op.d_residual, op.sum, op.weight, op.rstd, op.d_sum, op.d_branch}) +
            accumulated_bytes({op.d_weight, op.scratch}));
}

void PlanBackend::run(const Linear& op) {
  count(Operation::linear, product_flops(op.x.rows(), op.weight.rows(), op.x.row_elements()),
        bytes_of({op.x, op.weight, op.bias, op.y}));
}

void PlanBackend::run(const LinearBackward& op) {
  const int products = (op.d_x.present() ? 1 : 0) + (op.d_weight.present() ? 1 : 0);
  const bool gelu_within = op.gelu_pre.present() && traits_.gelu_in_products;
  const double slope_flops =
      gelu_within ? kActivation_backward_flops * elements_of(op.gelu_pre) : 0;
  count(Operation::linear_backward,
        products * product_flops(op.x.rows(), op.weight.rows(), op.x.row_elements()) + slope_flops,
        bytes_of({op.d_y, op.d_x}) + (op.d_weight.present() ? bytes_of({op.x}) : 0) +
            (gelu_within ? bytes_of({op.gelu_pre}) : 0) +
            (op.d_x.present() ? bytes_of({op.weight}) : 0) +
            accumulated_bytes({op.d_weight, op.d_bias}));
  if (!op.gelu_pre.present() || gelu_within) return;
  run(MlpActivationBackward{
      .activation = Activation::gelu, .pre = op.gelu_pre, .d_out = op.d_x, .d_pre = op.d_x});
}

void PlanBackend::run(const QuantisedEmbedding& op) {
  const double row_bytes = static_cast<double>(op.table.bytes()) /
                           static_cast<double>(op.table.rows()) * elements_of(op.tokens);
  count(Operation::quantised_embedding, elements_of(op.out),
        row_bytes + bytes_of({op.tokens, op.out}));
}

void PlanBackend::run(const QuantisedLinear& op) {
  const bool widens = op.x.rows() > traits_.few_quantised_rows;
  count(Operation::quantised_linear,
        product_flops(op.x.rows(), op.weight.rows(), op.x.row_elements()),
        bytes_of({op.x, op.weight.codes, op.weight.scales, op.bias, op.y}) +
            (widens ? accumulated_bytes({op.scratch}) : 0));
}

void PlanBackend::run(const QuantisedLinearBackward& op) {
  // What is widened is written and read, in as many parts as the scratch holds.
  const double widened_bytes =
      elements_of(op.d_x) / static_cast<double>(op.d_x.rows()) *
      static_cast<double>(op.weight.rows()) *
      static_cast<double>(size_of(traits_.bf16_only ? DType::bf16 : DType::f32));
  count(Operation::quantised_linear_backward,
        product_flops(op.d_y.rows(), op.weight.rows(), op.d_x.row_elements()),
        bytes_of({op.d_y, op.weight.codes, op.weight.scales, op.d_x}) + 2 * widened_bytes);
}

void PlanBackend::run(const Lora& op) {
  const std::int64_t out = op.y.present() ? op.b.rows() : 0;
  const double products = product_flops(op.x.rows(), op.h.row_elements(), op.x.row_elements()) +
                          product_flops(op.x.rows(), out, op.h.row_elements());
  const double y_bytes = op.y.present() ? part_bytes(op.y, op.b.rows()) : 0;
  count(Operation::lora, products,
        bytes_of({op.x, op.a}) + (op.y.present() ? bytes_of({op.b}) : 0) +
            accumulated_bytes({op.dropped, op.h}) + 2 * y_bytes);
}

void PlanBackend::run(const LoraBackward& op) {
  const double inner = product_flops(op.x.rows(), op.h.row_elements(), op.x.row_elements());
  const double outer = product_flops(op.x.rows(), op.h.row_elements(), op.b.rows());
  // Both products of the outputs' gradients read them.
  count(Operation::lora_backward, (op.d_x.present() ? 2 : 1) * inner + 2 * outer,
        2 * part_bytes(op.d_y, op.b.rows()) + bytes_of({op.x, op.a, op.b, op.h}) +
            accumulated_bytes({op.d_h, op.d_a, op.d_b, op.d_x, op.dropped}) +
            (op.d_x.present() ? accumulated_bytes({op.dropped}) : 0));
}

void PlanBackend::run(const QkNorm& op) {
  count(Operation::qk_norm, kNorm_flops * elements_of(op.out),
        bytes_of({op.qkv, op.q_weight, op.k_weight, op.out, op.rstd}));
}

void PlanBackend::run(const QkNormBackward& op) {
  count(Operation::qk_norm_backward, kNorm_backward_flops * elements_of(op.d_qkv),
        bytes_of({op.qkv, op.q_weight, op.k_weight, op.rstd}) +
            accumulated_bytes({op.d_qkv, op.d_q_weight, op.d_k_weight, op.scratch}));
}

void PlanBackend::run(const Rope& op) {
  const std::int64_t rotated = op.qkv.rows() * (op.shape.query_width() + op.shape.key_width());
  count(Operation::rope, kRotation_flops * static_cast<double>(rotated),
        2.0 * static_cast<double>(rotated * size_of(op.qkv.dtype)) + bytes_of({op.table}));
}

void PlanBackend::run(const Attention& op) {
  count(Operation::attention, attention_flops(op.shape, op.qkv.rows()),
        bytes_of({op.qkv, op.document_starts, op.out, op.lse}));
}

void PlanBackend::run(const AttentionBackward& op) {
  count(Operation::attention_backward,
        kAttention_backward_ratio * attention_flops(op.shape, op.qkv.rows()),
        bytes_of({op.qkv, op.document_starts, op.out, op.lse, op.d_out, op.d_qkv}) +
            accumulated_bytes({op.scratch}));
}

void PlanBackend::run(const DecodeAttention& op) {
  const std::int64_t rows = op.qkv.rows();
  const double visible_rows = static_cast<double>(rows) * static_cast<double>(op.first_position) +
                              static_cast<double>(rows) * static_cast<double>(rows + 1) / 2;
  const std::int64_t cached_elements = 2 * op.first_position * op.shape.key_width();
  const std::int64_t appended_elements = 2 * rows * op.shape.key_width();
  count(Operation::decode_attention, 4 * visible_rows * static_cast<double>(op.shape.query_width()),
        bytes_of({op.qkv, op.out}) +
            static_cast<double>((cached_elements + appended_elements) * size_of(op.qkv.dtype)));
}

void PlanBackend::run(const MlpActivation& op) {
  count(Operation::mlp_activation, kActivation_flops * elements_of(op.out),
        bytes_of({op.pre, op.out}));
}

void PlanBackend::run(const MlpActivationBackward& op) {
  count(Operation::mlp_activation_backward, kActivation_backward_flops * elements_of(op.d_out),
        bytes_of({op.pre, op.d_out, op.d_pre}));
}

void PlanBackend::run(const HeadLoss& op) {
  const std::int64_t tokens = op.x.rows();
  const std::int64_t vocabulary = op.weight.rows();
  const double logits = static_cast<double>(tokens) * static_cast<double>(vocabulary);
  const int products = 1 + (op.d_x.present() ? 1 : 0) + (op.d_weight.present() ? 1 : 0);
  // The logits of every chunk are written and read back, though never all at once.
  const double logits_bytes = 2 * logits * static_cast<double>(size_of(op.logits.dtype));
  count(Operation::head_loss,
        products * product_flops(tokens, vocabulary, op.x.row_elements()) + kSoftmax_flops * logits,
        bytes_of({op.x, op.weight, op.targets, op.losses, op.d_x}) +
            accumulated_bytes({op.d_weight}) + logits_bytes);
}

void PlanBackend::run(const AdamW& op) {
  count(Operation::adamw, kAdamw_flops * elements_of(op.gradients),
        bytes_of({op.gradients}) + update_bytes(op.to) + accumulated_bytes({op.m, op.v}));
}

void PlanBackend::run(const AdamW8& op) {
  count(Operation::adamw_8bit, (kAdamw_flops + kMoment_code_flops) * elements_of(op.gradients),
        bytes_of({op.gradients}) + update_bytes(op.to) +
            accumulated_bytes({op.m, op.v, op.m_scale, op.v_scale}));
}

void PlanBackend::run(const Muon& op) {
  double flops = kMuon_flops * elements_of(op.x);
  newton_schulz(op, [&](const MatrixProduct& product) {
    flops += product_flops(product.to.rows(), product.to.shape[1], product.depth());
  });
  const double products = kMuonIterations * bytes_of({op.x, op.x, op.next, op.gram, op.gram,
                                                      op.polynomial, op.polynomial});
  // Gradients and momentum are read once more when the norm is known.
  count(Operation::muon, flops,
        bytes_of({op.gradients, op.gradients, op.momentum, op.x, op.next}) + update_bytes(op.to) +
            accumulated_bytes({op.momentum}) + products);
}

void PlanBackend::run(const FromHost& op) {
  count(Operation::from_host, 0, bytes_of({op.to}));
}

void PlanBackend::run(const ToHost& op) {
  count(Operation::to_host, 0, bytes_of({op.from}));
}

void PlanBackend::run(const Peak& op) {
  count(Operation::peak, elements_of(op.x), bytes_of({op.x}));
}

void PlanBackend::run(const Quantise& op) {
  count(Operation::quantise, kScale_flops * elements_of(op.x),
        bytes_of({op.x, op.codes, op.transposed}));
}

void PlanBackend::run(const LinearFp8& op) {
  const Linear& as = op.in_rows_type;
  count(Operation::linear_fp8, product_flops(as.x.rows(), as.weight.rows(), as.x.row_elements()),
        bytes_of({op.x.codes, op.weight.codes, as.bias, as.y}));
}

void PlanBackend::run(const LinearBackwardFp8& op) {
  const LinearBackward& as = op.in_rows_type;
  const int products = as.d_x.present() ? 2 : 1;
  count(Operation::linear_backward_fp8,
        products * product_flops(as.x.rows(), as.weight.rows(), as.x.row_elements()),
        bytes_of({op.d_y_transposed.codes, op.x_transposed.codes}) +
            (as.d_x.present() ? bytes_of({op.d_y.codes, op.weight_transposed.codes, as.d_x}) : 0) +
            (as.d_bias.present() ? bytes_of({as.d_y}) : 0) +
            accumulated_bytes({as.d_weight, as.d_bias}));
}

double PlanBackend::sum_of_squares(const Tensor& x) {
  count(Operation::sum_of_squares, 2 * elements_of(x), bytes_of({x}));
  return 0;
}

}  // namespace athanor
