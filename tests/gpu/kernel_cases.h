// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/engine/backend/operation_tensors.h"
#include "tests/gpu/card_tensors.h"

namespace athanor {

/// How large what is timed is.
struct KernelSizes {
  std::int64_t rows = 16384;  ///< so many that a card's caches hold none of the tensors
  std::int64_t width = 2048;
  std::int64_t ffn = 5632;
  std::int64_t vocabulary = 50304;
  std::int64_t parameters = std::int64_t{1} << 26;  ///< of an update
  AttentionShape heads{.heads = 16, .kv_heads = 4, .head_dim = 128, .sequence = 2048};
  std::int64_t cached_rows = 32768;      ///< of a decoded sequence
  std::int64_t product_rows = 8192;      ///< also tokens of attention
  std::int64_t copy_bytes = 1 << 30;     ///< of the device copy that is the measure
  std::int64_t peak_side = 8192;         ///< of the square product that is the measured peak
  std::int64_t arena_bytes = 3LL << 30;  ///< of the largest case

  /// For a card that the processor emulates.
  static KernelSizes tiny();
};

/// One kernel that does little more than read and write.
struct KernelCase {
  std::string name;
  Operation operation = Operation::add_norm;
  std::function<AnyOperation(CardTensors&)> build;
};
std::vector<KernelCase> memory_bound_cases(const KernelSizes& sizes);

/// Both directions of attention over `tokens` tokens.
struct AttentionCase {
  AttentionShape shape;
  std::int64_t tokens = 0;
};
std::vector<AttentionCase> attention_cases(const KernelSizes& sizes);
Attention build_attention(CardTensors& make, const AttentionCase& of);
/// Of a forward direction that ran.
AttentionBackward build_attention_backward(CardTensors& make, const Attention& forward);

/// y[rows, out] = x[rows, in] · weightᵀ, and its backward direction.
struct ProductCase {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};
std::vector<ProductCase> product_cases(const KernelSizes& sizes);
/// The same of codes, which the card makes.
LinearFp8 build_linear_fp8(CardTensors& make, const Linear& linear);
LinearBackwardFp8 build_linear_backward_fp8(CardTensors& make, const LinearBackward& backward);
/// Of the LM head fused with its loss.
ProductCase head_chunk(const KernelSizes& sizes);

}  // namespace athanor
