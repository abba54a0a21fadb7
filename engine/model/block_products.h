// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/backend.h"
#include "engine/model/parameters.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// The four products of a block, by the matrix of weights.
enum class BlockProduct { qkv, attention_out, up, down };
inline constexpr int kBlockProducts = 4;

/// What FP8 keeps from one pass to the next.
struct Fp8Tensors {
  Tensor codes;   ///< u8, of the blocks' weights, where they are in the flat tensor of parameters
  Tensor scales;  ///< [3 · products, 4] of each matrix: scale, peak, and space to 16 bytes

  /// From `arena`, for the blocks of `table`.
  static Fp8Tensors take(const ParameterTable& table, DType compute_type, Arena& arena);
  bool present() const { return codes.present(); }
};

/// How one pass makes the products of blocks: in the type of its rows, or in FP8 with one scale for
/// a matrix (docs/decisions/0010-fp8.md). Whoever writes a product's input, or the gradient of its
/// result, raises the peak that it is then scaled by.
class BlockProducts {
 public:
  /// One of all of them.
  struct Place {
    std::int64_t layer = 0;
    BlockProduct product = BlockProduct::qkv;
  };

  BlockProducts() = default;
  /// In FP8 where `fp8` is present. Codes that come and go are borrowed from `arena`.
  BlockProducts(const ParameterTable& table, Backend& backend, Arena& arena, const Fp8Tensors& fp8)
      : table_(&table), backend_(&backend), arena_(&arena), fp8_(fp8) {}

  bool in_fp8() const { return fp8_.present(); }
  /// Zeroes the peaks of a micro-batch; of the first of a step it also makes codes of `weights`.
  void begin(const Tensor& weights, bool first_of_step) const;

  /// [1], zero until raised; absent where none is needed.
  Tensor input_peak(Place at) const { return peak(Matrix::input, at); }
  Tensor gradient_peak(Place at) const { return peak(Matrix::gradient, at); }

  /// Raises it to that of `gradient`, which several operations wrote in parts.
  void measure_gradient(Place at, const Tensor& gradient) const;

  void forward(Place at, const Linear& op) const;
  void backward(Place at, const LinearBackward& op) const;

 private:
  /// In the order of Fp8Tensors::scales, which is by matrix, layer, product.
  enum class Matrix { weight, input, gradient };

  Tensor slot(Matrix matrix, Place at) const;
  Tensor scale(Matrix matrix, Place at) const { return slot(matrix, at).slice_rows(0, 1); }
  Tensor peak(Matrix matrix, Place at) const;
  Tensor weight_codes(Place at) const;
  Tensor borrow(Shape shape, const char* what, Place at) const;
  /// Codes of x, and of xᵀ, in memory that may be absent.
  void quantise(const Tensor& x, Matrix matrix, Place at, const Tensor& codes,
                const Tensor& transposed) const;
  void quantise_weights(const Tensor& weights) const;

  const ParameterTable* table_ = nullptr;
  Backend* backend_ = nullptr;
  Arena* arena_ = nullptr;
  Fp8Tensors fp8_;
};

}  // namespace athanor
