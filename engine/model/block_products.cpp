// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/block_products.h"

namespace athanor {
namespace {

constexpr std::int64_t kSlot_numbers = 4;
constexpr int kMatrices = 3;

int weight_of(const LayerParameters& ids, BlockProduct product) {
  switch (product) {
    case BlockProduct::qkv:
      return ids.qkv;
    case BlockProduct::attention_out:
      return ids.attention_out;
    case BlockProduct::up:
      return ids.up;
    case BlockProduct::down:
      break;
  }
  return ids.down;
}

}  // namespace

Fp8Tensors Fp8Tensors::take(const ParameterTable& table, DType compute_type, Arena& arena) {
  const std::int64_t layers = table.layers();
  const ParameterRange last = table.range_of_layer(layers - 1);
  const std::int64_t elements = last.offset + last.elements - table.range_of_layer(0).offset;
  return {.codes = arena.take(MemoryRole::weights, DType::u8, {elements}, {"weights in FP8"}),
          .scales =
              arena.take(MemoryRole::weights, compute_type,
                         {kMatrices * kBlockProducts * layers, kSlot_numbers}, {"scales of FP8"})};
}

Tensor BlockProducts::slot(Matrix matrix, Place at) const {
  const std::int64_t index =
      (static_cast<std::int64_t>(matrix) * table_->layers() + at.layer) * kBlockProducts +
      static_cast<std::int64_t>(at.product);
  return fp8_.scales.slice_rows(index, 1).reshaped({kSlot_numbers});
}

Tensor BlockProducts::peak(Matrix matrix, Place at) const {
  return fp8_.present() ? slot(matrix, at).slice_rows(1, 1) : Tensor();
}

Tensor BlockProducts::weight_codes(Place at) const {
  const auto id = static_cast<std::size_t>(weight_of(table_->layer(at.layer), at.product));
  const Parameter& weight = table_->all()[id];
  return fp8_.codes
      .slice_rows(weight.offset - table_->range_of_layer(0).offset, weight.shape.elements())
      .reshaped(weight.shape);
}

Tensor BlockProducts::borrow(Shape shape, const char* what, Place at) const {
  return arena_->borrow(MemoryRole::workspace, DType::u8, shape, {what, at.layer});
}

void BlockProducts::quantise(const Tensor& x, Matrix matrix, Place at, const Tensor& codes,
                             const Tensor& transposed) const {
  backend_->run(Quantise{.x = x,
                         .peak = peak(matrix, at),
                         .codes = codes,
                         .transposed = transposed,
                         .scale = scale(matrix, at)});
}

void BlockProducts::quantise_weights(const Tensor& weights) const {
  for (std::int64_t layer = 0; layer < table_->layers(); ++layer) {
    for (int product = 0; product < kBlockProducts; ++product) {
      const Place at{layer, static_cast<BlockProduct>(product)};
      const Tensor weight = table_->view(weights, weight_of(table_->layer(layer), at.product));
      backend_->run(Peak{.x = weight, .peak = peak(Matrix::weight, at)});
      quantise(weight, Matrix::weight, at, weight_codes(at), {});
    }
  }
}

void BlockProducts::begin(const Tensor& weights, bool first_of_step) const {
  if (!fp8_.present()) return;
  const std::int64_t of_weights = table_->layers() * kBlockProducts;
  const std::int64_t first = first_of_step ? 0 : of_weights;
  backend_->zero(fp8_.scales.slice_rows(first, fp8_.scales.rows() - first));
  if (first_of_step) quantise_weights(weights);
}

void BlockProducts::measure_gradient(Place at, const Tensor& gradient) const {
  if (fp8_.present()) backend_->run(Peak{.x = gradient, .peak = gradient_peak(at)});
}

void BlockProducts::forward(Place at, const Linear& op) const {
  if (!fp8_.present()) {
    backend_->run(op);
    return;
  }
  const ArenaScope scope(*arena_);
  const Tensor x = borrow(op.x.shape, "product's input in FP8", at);
  quantise(op.x, Matrix::input, at, x, {});
  backend_->run(LinearFp8{.in_rows_type = op,
                          .x = {x, scale(Matrix::input, at)},
                          .weight = {weight_codes(at), scale(Matrix::weight, at)}});
}

void BlockProducts::backward(Place at, const LinearBackward& op) const {
  if (!fp8_.present()) {
    backend_->run(op);
    return;
  }
  const ArenaScope scope(*arena_);
  const auto flipped = [](const Tensor& matrix) { return Shape{matrix.shape[1], matrix.shape[0]}; };
  const Tensor d_y = borrow(op.d_y.shape, "gradient in FP8", at);
  const Tensor d_y_flipped = borrow(flipped(op.d_y), "gradient in FP8, transposed", at);
  const Tensor x_flipped = borrow(flipped(op.x), "product's input in FP8, transposed", at);
  const Tensor weight_flipped = borrow(flipped(op.weight), "weights in FP8, transposed", at);
  quantise(op.d_y, Matrix::gradient, at, d_y, d_y_flipped);
  // The same codes as in the forward direction: the peaks are kept.
  quantise(op.x, Matrix::input, at, {}, x_flipped);
  quantise(op.weight, Matrix::weight, at, {}, weight_flipped);
  backend_->run(
      LinearBackwardFp8{.in_rows_type = op,
                        .d_y = {d_y, scale(Matrix::gradient, at)},
                        .d_y_transposed = {d_y_flipped, scale(Matrix::gradient, at)},
                        .x_transposed = {x_flipped, scale(Matrix::input, at)},
                        .weight_transposed = {weight_flipped, scale(Matrix::weight, at)}});
}

}  // namespace athanor
