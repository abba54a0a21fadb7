// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/backend.h"
#include "engine/model/adapters.h"
#include "engine/model/model_weights.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// What FP8 keeps from one pass to the next.
struct Fp8Tensors {
  Tensor codes;   ///< u8, of the blocks' weights, where they are in the flat tensor of parameters
  Tensor scales;  ///< [3 · products, 4] of each matrix: scale, peak, and space to 16 bytes

  /// From `arena`, for the blocks of `table`.
  static Fp8Tensors take(const ParameterTable& table, DType compute_type, Arena& arena);
  bool present() const { return codes.present(); }
};

/// How one pass makes the products of blocks: with weights as numbers or in blocks of codes, with
/// adapters beside them where there are some; or in FP8 with one scale for a matrix
/// (docs/decisions/0010-fp8.md). For that, whoever writes a product's input, or the gradient of its
/// result, raises the peak that it is then scaled by.
class BlockProducts {
 public:
  /// One of all of them.
  struct Place {
    std::int64_t layer = 0;
    BlockProduct product = BlockProduct::qkv;
  };

  /// Of a block's backward direction, all [N, …].
  struct Gradients {
    Tensor d_y;
    Tensor x;
    Tensor d_x;  ///< optional where the weights are frozen
    Tensor gelu_pre = {};
  };

  /// What a pass multiplies by, and what is between it and a product with numbers.
  struct Inputs {
    ModelWeights weights;
    Fp8Tensors fp8 = {};
    float adapter_scale = 0;
    Dropout adapter_dropout =
        {};  ///< its streams count on from the given one, one for each adapter
  };

  BlockProducts() = default;
  /// What comes and goes is borrowed from `arena`.
  BlockProducts(const ParameterTable& table, const AdapterTable& adapters, Backend& backend,
                Arena& arena, const Inputs& inputs)
      : table_(&table), adapters_(&adapters), backend_(&backend), arena_(&arena), inputs_(inputs) {}

  bool in_fp8() const { return inputs_.fp8.present(); }
  /// Zeroes the peaks of a micro-batch; of the first of a step it also makes codes of the weights.
  void begin(bool first_of_step) const;

  /// [1], zero until raised; absent where none is needed.
  Tensor input_peak(Place at) const { return peak(Matrix::input, at); }
  Tensor gradient_peak(Place at) const { return peak(Matrix::gradient, at); }

  /// Raises it to that of `gradient`, which several operations wrote in parts.
  void measure_gradient(Place at, const Tensor& gradient) const;

  void forward(Place at, const Tensor& x, const Tensor& y) const;
  /// Gradients of weights go to `open`: of adapters where there are some, else of the block's own.
  void backward(Place at, const Gradients& of, const OpenGradients& open) const;
  /// y = x · weightᵀ + bias of any parameters with these indices.
  void multiply(const Tensor& x, int weight, int bias, const Tensor& y) const;

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
  void quantise_weights() const;
  int weight_of(Place at) const { return table_->layer(at.layer).weight(at.product); }
  int bias_of(Place at) const { return table_->layer(at.layer).bias(at.product); }
  Tensor numbers(int id) const { return inputs_.weights.numbers(*table_, id); }
  void forward_in_fp8(Place at, const Linear& op) const;
  void backward_in_fp8(Place at, const LinearBackward& op) const;
  /// d_x of a frozen product.
  void backward_frozen(Place at, const Gradients& of) const;
  /// Calls run(adapter, op without results) for each of a product, with scratch.
  template <class Run>
  void for_adapters(Place at, const Tensor& x, const Run& run) const;

  const ParameterTable* table_ = nullptr;
  const AdapterTable* adapters_ = nullptr;
  Backend* backend_ = nullptr;
  Arena* arena_ = nullptr;
  Inputs inputs_;
};

}  // namespace athanor
