// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/backend/optimizer_operations.h"
#include "engine/tensor/quantised_blocks.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// The arguments of each fused operation. N is rows (tokens of a micro-batch), d the model width, V
/// the vocabulary, q = heads·head_dim, k = kv_heads·head_dim, a = q + 2k. Real tensors have the
/// backend's compute type; weights, their gradients, and whatever has a row of values per token
/// (its gradients and the logits included) may be bf16 instead, each rounded once to nearest, even
/// where it is written: the operation still computes in the compute type. Statistics (rstd, lse,
/// losses, scales), rotary tables and scratch of reductions always have the compute type.
/// "Accumulated" outputs are added to; all others are overwritten. Tensors marked optional are
/// absent when default-constructed. Unless a field says so, no two arguments overlap.

/// Reductions over rows are made in this many fixed parts, whatever the number of threads; other
/// backends may make more (BackendTraits::reduction_parts).
inline constexpr std::int64_t kReductionParts = 16;

/// Which of a residual branch's elements are dropped: element i of the tensor is kept when word i
/// of Philox(seed, stream) is at least rate·2^32, and then scaled by 1/(1 − rate). Never stored.
struct Dropout {
  float rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  /// i32 [2], optional: the lower and the upper word of what is added to `stream`. Read whenever
  /// the operation runs, so that recorded ones (Backend::record) drop other elements each time.
  Tensor stream_base = {};
};

struct Embedding {
  Tensor table;   ///< [V, d]
  Tensor tokens;  ///< i32 [N]
  Tensor out;     ///< [N, d]
};

struct EmbeddingBackward {
  Tensor d_out;    ///< [N, d]
  Tensor tokens;   ///< i32 [N]
  Tensor d_table;  ///< [V, d], accumulated in row order, so deterministic
};

/// sum = input + dropout(branch); out = sum · rstd · weight with rstd = 1/√(mean(sum²) + ε).
/// RMSNorm: Zhang and Sennrich, 2019.
struct AddNorm {
  Tensor input;   ///< [N, d]
  Tensor branch;  ///< [N, d], optional
  Dropout dropout;
  Tensor weight;  ///< [d]
  Tensor sum;     ///< [N, d]; absent when there is no branch: the sum is then the input itself
  Tensor out;     ///< [N, d]
  Tensor rstd;    ///< [N]
  float epsilon = 1e-5F;
  Tensor peak;  ///< [1], optional: of out (see Peak)
};

/// out = x · rstd · weight: AddNorm's output once more, to the bit, from what it kept.
struct NormAgain {
  Tensor x;       ///< [N, d] the sum of then
  Tensor rstd;    ///< [N]
  Tensor weight;  ///< [d]
  Tensor out;     ///< [N, d]
};

struct AddNormBackward {
  Tensor d_out;       ///< [N, d] gradient at the norm's output
  Tensor d_residual;  ///< [N, d] gradient arriving at the sum from further on, optional
  Tensor sum;         ///< [N, d]
  Tensor weight;      ///< [d]
  Tensor rstd;        ///< [N]
  Dropout dropout;
  Tensor d_sum;  ///< [N, d]; may be the same tensor as d_residual or as sum
  Tensor
      d_branch;  ///< [N, d]; present only with dropout: without it the branch's gradient is d_sum
  Tensor d_weight;  ///< [d], accumulated; absent where the weight is frozen
  Tensor scratch;   ///< [reduction parts, d]
  Tensor peak;      ///< [1], optional: of the branch's gradient (see Peak)
};

/// y = x · weightᵀ + bias
struct Linear {
  Tensor x;       ///< [N, in]
  Tensor weight;  ///< [out, in]
  Tensor bias;    ///< [out], optional
  Tensor y;       ///< [N, out]
};

struct LinearBackward {
  Tensor d_y;       ///< [N, out]
  Tensor x;         ///< [N, in]
  Tensor weight;    ///< [out, in]
  Tensor d_x;       ///< [N, in], optional
  Tensor d_weight;  ///< [out, in], accumulated; absent where the weight is frozen
  Tensor d_bias;    ///< [out], accumulated, optional
  /// [N, in], optional: x is gelu(gelu_pre), and d_x gets the gradient at gelu_pre. In bf16 the
  /// gradient at x may be rounded before.
  Tensor gelu_pre = {};
};

/// A frozen matrix of `out` rows in blocks of 32 (quantised_blocks.h). Codes and scales lie apart,
/// so that both are read aligned; together they take as many bytes as the blocks. `in` is a
/// multiple of 32.
struct QuantisedMatrix {
  BlockFormat format = BlockFormat::q8_0;
  Tensor codes;   ///< u8 [out, block_code_bytes(format) · in / 32]
  Tensor scales;  ///< u16 [out, in / 32], the bits of an F16 each

  bool present() const { return codes.present(); }
  std::int64_t rows() const { return codes.rows(); }
  std::int64_t row_elements() const { return scales.row_elements() * kBlock_elements; }
  std::int64_t bytes() const { return codes.bytes() + scales.bytes(); }
  /// Whether both are there and their rows are `width` numbers in blocks.
  bool has_rows_of(std::int64_t width) const {
    const std::int64_t blocks = width / kBlock_elements;
    return is_whole_blocks(width) && codes.data != nullptr && codes.dtype == DType::u8 &&
           codes.shape == Shape{rows(), blocks * block_code_bytes(format)} &&
           scales.data != nullptr && scales.dtype == DType::u16 &&
           scales.shape == Shape{rows(), blocks};
  }
};

/// Embedding from a quantised table.
struct QuantisedEmbedding {
  QuantisedMatrix table;  ///< [V, d]
  Tensor tokens;          ///< i32 [N]
  Tensor out;             ///< [N, d]
};

/// y = x · weightᵀ + bias, computed by one of two ways:
/// - Without rounding weights; processors round x first, in blocks of 32 to codes of 16 bits with a
///   scale of max|x| / 32767, because products of whole numbers are exact and fast. A block whose
///   numbers are all below 1e-34 is 0 then.
/// - More than BackendTraits::few_quantised_rows rows: the weight is widened to bf16 in the scratch
///   and multiplied like any other.
struct QuantisedLinear {
  Tensor x;                ///< [N, in]
  QuantisedMatrix weight;  ///< [out, in]
  Tensor bias;             ///< [out], optional
  Tensor y;                ///< [N, out]
  Tensor scratch;          ///< u8 [quantised_linear_scratch_bytes()]
};

/// The gradient at x of a QuantisedLinear: d_x = d_y · weight. The weight is widened in the
/// scratch: to FP32, or to bf16 where nothing else is multiplied.
struct QuantisedLinearBackward {
  Tensor d_y;              ///< [N, out]
  QuantisedMatrix weight;  ///< [out, in]
  Tensor d_x;              ///< [N, in]
  Tensor scratch;          ///< u8 [quantised_backward_scratch_bytes()]
};

/// What is added to a frozen product to fine-tune it (LoRA: Hu et al., 2021):
/// h = scale · dropout(x) · aᵀ; y += h · bᵀ. Of x, dropout, a, h and y each may be bf16 as usual.
/// Of a product that stacks several matrices, one may be meant: out of y's columns.
struct Lora {
  Tensor x;  ///< [N, in]
  Dropout dropout;
  Tensor dropped;  ///< [N, in] scratch, like x; present only with dropout
  Tensor a;        ///< [r, in]
  Tensor b;        ///< [out, r]
  float scale = 1;
  Tensor h;  ///< [N, r], what the backward direction needs
  Tensor y;  ///< [N, columns], those from first_column accumulated; absent: h alone is made
  std::int64_t first_column = 0;
};

struct LoraBackward {
  Tensor d_y;  ///< [N, columns]
  Tensor x;    ///< [N, in]
  Dropout dropout;
  Tensor dropped;  ///< [N, in] scratch, like x; present only with dropout
  Tensor a;        ///< [r, in]
  Tensor b;        ///< [out, r]
  float scale = 1;
  Tensor h;    ///< [N, r]
  Tensor d_h;  ///< [N, r] the gradient at dropout(x) · aᵀ
  Tensor d_a;  ///< [r, in], accumulated
  Tensor d_b;  ///< [out, r], accumulated
  Tensor d_x;  ///< [N, in], accumulated, optional
  std::int64_t first_column = 0;
};

/// Raises `peak` to the largest magnitude in x, as it is stored: zero it before. Above all numbers
/// is what is not finite. Operations that write a matrix can do the same on the way.
struct Peak {
  Tensor x;
  Tensor peak;  ///< [1]
};

/// A matrix of E4M3 codes (Micikevicius et al., 2022) with one scale: what a code stands for,
/// times the scale.
struct Fp8 {
  Tensor codes;  ///< u8; begins on a multiple of 16 bytes, like the scale
  Tensor scale;  ///< [1]
};

/// The codes nearest to x / scale, of two equally near the even one, and where |x / scale| is
/// beyond 448, E4M3's largest number, that. The scale is the least power of two with peak / scale ≤
/// 448, but at least 2⁻¹²⁶: dividing by it and multiplying with it round nothing. Where the peak is
/// not finite, scale and codes are not numbers, so neither is any product of them.
struct Quantise {
  Tensor x;           ///< [N, columns]
  Tensor peak;        ///< [1]
  Tensor codes;       ///< u8 [N, columns], optional
  Tensor transposed;  ///< u8 [columns, N], optional: those of xᵀ
  Tensor scale;       ///< [1]
};

/// Linear as a product of codes. Where a device has none of these extents, it is `in_rows_type`.
struct LinearFp8 {
  Linear in_rows_type;  ///< also has bias and y
  Fp8 x;                ///< [N, in]
  Fp8 weight;           ///< [out, in]
};

/// LinearBackward as two products of codes, each along rows of both its matrices: no others run on
/// all cards. Where a device has none of these extents, it is `in_rows_type`.
struct LinearBackwardFp8 {
  LinearBackward in_rows_type;  ///< also has the gradients; d_bias sums its d_y
  Fp8 d_y;                      ///< [N, out]
  Fp8 d_y_transposed;           ///< [out, N]
  Fp8 x_transposed;             ///< [in, N]
  Fp8 weight_transposed;        ///< [in, out]
};

struct AttentionShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< divides heads; query head h reads key head h·kv_heads/heads
  std::int64_t head_dim = 0;
  std::int64_t sequence = 0;  ///< rows per sequence; N is a multiple of it

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t key_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + 2 * key_width(); }
};

/// RMSNorm of each query and key head (QK-norm: Henry et al., 2020); values are copied.
struct QkNorm {
  AttentionShape shape;
  Tensor qkv;       ///< [N, a]: queries, keys, values
  Tensor q_weight;  ///< [head_dim]
  Tensor k_weight;  ///< [head_dim]
  Tensor out;       ///< [N, a]
  Tensor rstd;      ///< [N, heads + kv_heads]
  float epsilon = 1e-5F;
};

struct QkNormBackward {
  AttentionShape shape;
  Tensor qkv;         ///< [N, a], before the norm
  Tensor q_weight;    ///< [head_dim]
  Tensor k_weight;    ///< [head_dim]
  Tensor rstd;        ///< [N, heads + kv_heads]
  Tensor d_qkv;       ///< [N, a]; in place: gradient after the norm in, before it out
  Tensor d_q_weight;  ///< [head_dim], accumulated; absent, like the next, where they are frozen
  Tensor d_k_weight;  ///< [head_dim], accumulated
  Tensor scratch;     ///< [reduction parts, 2·head_dim]
};

/// Rotary position embedding of queries and keys, in place (Su et al., 2021), in the half-split
/// layout: element i of a head turns with element i + head_dim/2. Row n stands at first_position +
/// n mod sequence.
struct Rope {
  AttentionShape shape;
  Tensor qkv;    ///< [N, a]
  Tensor table;  ///< [positions, head_dim]: head_dim/2 cosines, then as many sines
  std::int64_t first_position = 0;
  bool inverse = false;  ///< the backward direction: turns by the negative angle
};

/// Causal attention within each sequence; row i sees rows document_starts[i] … i. Scores are scaled
/// by 1/√head_dim. Tiles are reduced online, no sequence × sequence matrix is kept (Dao et al.,
/// 2022).
struct Attention {
  AttentionShape shape;
  Tensor qkv;              ///< [N, a]
  Tensor document_starts;  ///< i32 [N], index within the sequence
  Tensor out;              ///< [N, q]
  Tensor lse;              ///< [N, heads], log of the sum of exponentials
  Tensor peak;             ///< [1], optional: of out (see Peak)
};

struct AttentionBackward {
  AttentionShape shape;
  Tensor qkv;              ///< [N, a]
  Tensor document_starts;  ///< i32 [N]
  Tensor out;              ///< [N, q]
  Tensor lse;              ///< [N, heads]
  Tensor d_out;            ///< [N, q]
  Tensor d_qkv;            ///< [N, a]
  Tensor scratch;          ///< [N, heads]
};

/// Appends n rows' keys and values to the cache and attends from each row to all rows up to itself:
/// n = 1 while generating, more for a prompt. shape.sequence is not used.
struct DecodeAttention {
  AttentionShape shape;
  Tensor qkv;                       ///< [n, a]
  Tensor key_cache;                 ///< [capacity, k]
  Tensor value_cache;               ///< [capacity, k]
  std::int64_t first_position = 0;  ///< rows in the cache before; first_position + n ≤ capacity
  Tensor out;                       ///< [n, q]
};

enum class Activation { swiglu, gelu, silu, relu2 };
constexpr std::array<std::string_view, 4> names_of(Activation) {
  return {"swiglu", "gelu", "silu", "relu2"};
}

/// swiglu: out = silu(pre[:, :f]) · pre[:, f:] (Shazeer, 2020); gelu in its tanh form (Hendrycks
/// and Gimpel, 2016); relu2 is max(0, x)² (So et al., 2021).
struct MlpActivation {
  Activation activation = Activation::swiglu;
  Tensor pre;   ///< [N, 2f] for swiglu, else [N, f]
  Tensor out;   ///< [N, f]
  Tensor peak;  ///< [1], optional: of out (see Peak)
};

struct MlpActivationBackward {
  Activation activation = Activation::swiglu;
  Tensor pre;    ///< as in the forward direction
  Tensor d_out;  ///< [N, f]
  Tensor d_pre;  ///< like pre; may be the same tensor as pre or, but for swiglu, as d_out
  Tensor peak;   ///< [1], optional: of d_pre (see Peak)
};

/// The LM head fused with cross-entropy, in chunks of logits.rows() tokens: logits of the whole
/// micro-batch never exist. Rows whose target is -1 cost nothing and count in nothing.
/// With gradients, d_x and d_weight receive those of
/// gradient_scale · gradient_factor · Σ row_factors · losses.
struct HeadLoss {
  Tensor x;        ///< [N, d]
  Tensor weight;   ///< [V, d]
  Tensor targets;  ///< i32 [N]
  Tensor losses;   ///< [N] −log p(target), 0 where masked
  double gradient_scale = 0;
  Tensor gradient_factor = {};  ///< [1], optional; read whenever the operation runs
  Tensor row_factors = {};      ///< [N], optional: 1
  Tensor d_x;                   ///< [N, d], optional
  Tensor d_weight;              ///< [V, d], accumulated; only with d_x, absent where frozen
  Tensor logits;                ///< [chunk, V] scratch
};

/// Copies between a device's own memory and the host tier (TrainArenas), which for a CPU is
/// a file.
struct FromHost {
  Tensor host;
  Tensor to;  ///< same type and shape
};
struct ToHost {
  Tensor from;
  Tensor host;  ///< same type and shape
};

}  // namespace athanor
