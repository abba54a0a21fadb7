// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/block_products.h"

namespace athanor {
namespace {

constexpr std::int64_t kSlot_numbers = 4;
constexpr int kMatrices = 3;

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
  return inputs_.fp8.scales.slice_rows(index, 1).reshaped({kSlot_numbers});
}

Tensor BlockProducts::peak(Matrix matrix, Place at) const {
  return inputs_.fp8.present() ? slot(matrix, at).slice_rows(1, 1) : Tensor();
}

Tensor BlockProducts::weight_codes(Place at) const {
  const auto id = static_cast<std::size_t>(weight_of(at));
  const Parameter& weight = table_->all()[id];
  return inputs_.fp8.codes
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

void BlockProducts::quantise_weights() const {
  for (std::int64_t layer = 0; layer < table_->layers(); ++layer) {
    for (int product = 0; product < kBlockProducts; ++product) {
      const Place at{layer, static_cast<BlockProduct>(product)};
      const Tensor weight = numbers(weight_of(at));
      backend_->run(Peak{.x = weight, .peak = peak(Matrix::weight, at)});
      quantise(weight, Matrix::weight, at, weight_codes(at), {});
    }
  }
}

void BlockProducts::begin(bool first_of_step) const {
  if (!in_fp8()) return;
  const std::int64_t of_weights = table_->layers() * kBlockProducts;
  const std::int64_t first = first_of_step ? 0 : of_weights;
  backend_->zero(inputs_.fp8.scales.slice_rows(first, inputs_.fp8.scales.rows() - first));
  if (first_of_step) quantise_weights();
}

void BlockProducts::measure_gradient(Place at, const Tensor& gradient) const {
  if (in_fp8()) backend_->run(Peak{.x = gradient, .peak = gradient_peak(at)});
}

void BlockProducts::multiply(const Tensor& x, int weight, int bias, const Tensor& y) const {
  const Tensor matrix = numbers(weight);
  if (matrix.present()) {
    backend_->run(Linear{.x = x, .weight = matrix, .bias = numbers(bias), .y = y});
    return;
  }
  const QuantisedMatrix& blocks = inputs_.weights.placed[static_cast<std::size_t>(weight)].blocks;
  const std::int64_t bytes = quantised_linear_scratch_bytes(backend_->traits(), x.rows(),
                                                            blocks.row_elements(), blocks.rows());
  const Arena::Mark mark = arena_->mark();
  backend_->run(QuantisedLinear{.x = x,
                                .weight = blocks,
                                .bias = numbers(bias),
                                .y = y,
                                .scratch = arena_->borrow(MemoryRole::workspace, DType::u8, {bytes},
                                                          {"quantised product's scratch"})});
  arena_->rewind_borrowed(mark);
}

template <class Run>
void BlockProducts::for_adapters(Place at, const Tensor& x, const Run& run) const {
  if (!inputs_.weights.adapters.present()) return;
  for (const Adapter& adapter : adapters_->of_layer(at.layer)) {
    if (adapter.product != at.product) continue;
    const Arena::Mark mark = arena_->mark();
    Lora op{.x = x,
            .dropout = inputs_.adapter_dropout,
            .dropped = {},
            .a = adapters_->view(inputs_.weights.adapters, adapter.a),
            .b = adapters_->view(inputs_.weights.adapters, adapter.b),
            .scale = inputs_.adapter_scale,
            .h = {},
            .y = {},
            .first_column = adapter.first_row};
    const auto borrow = [&](std::int64_t columns, const char* what) {
      return arena_->borrow(MemoryRole::workspace, x.dtype, {x.rows(), columns}, {what, at.layer});
    };
    op.h = borrow(op.a.rows(), "adapter's inner rows");
    if (op.dropout.rate > 0) {
      op.dropout.stream += static_cast<std::uint64_t>(at.layer * kLoraTargets) +
                           static_cast<std::uint64_t>(adapter.target);
      op.dropped = borrow(x.row_elements(), "adapter's dropped input");
    }
    run(adapter, op, borrow);
    arena_->rewind_borrowed(mark);
  }
}

void BlockProducts::forward(Place at, const Tensor& x, const Tensor& y) const {
  if (in_fp8()) {
    forward_in_fp8(
        at, {.x = x, .weight = numbers(weight_of(at)), .bias = numbers(bias_of(at)), .y = y});
    return;
  }
  multiply(x, weight_of(at), bias_of(at), y);
  for_adapters(at, x, [&](const Adapter&, Lora& op, const auto&) {
    op.y = y;
    backend_->run(op);
  });
}

void BlockProducts::backward(Place at, const Gradients& of, const OpenGradients& open) const {
  if (!inputs_.weights.adapters.present()) {
    const LinearBackward op{.d_y = of.d_y,
                            .x = of.x,
                            .weight = numbers(weight_of(at)),
                            .d_x = of.d_x,
                            .d_weight = open.of(*table_, weight_of(at)),
                            .d_bias = open.of(*table_, bias_of(at)),
                            .gelu_pre = of.gelu_pre};
    if (in_fp8()) {
      backward_in_fp8(at, op);
    } else {
      backend_->run(op);
    }
    return;
  }
  if (of.d_x.present()) backward_frozen(at, of);
  for_adapters(at, of.x, [&](const Adapter& adapter, Lora& op, const auto& borrow) {
    backend_->run(op);
    backend_->run(LoraBackward{.d_y = of.d_y,
                               .x = of.x,
                               .dropout = op.dropout,
                               .dropped = op.dropped,
                               .a = op.a,
                               .b = op.b,
                               .scale = op.scale,
                               .h = op.h,
                               .d_h = borrow(op.a.rows(), "gradient of the adapter's inner rows"),
                               .d_a = open.of(*adapters_, adapter.a),
                               .d_b = open.of(*adapters_, adapter.b),
                               .d_x = of.d_x,
                               .first_column = op.first_column});
  });
}

void BlockProducts::backward_frozen(Place at, const Gradients& of) const {
  const Tensor weight = numbers(weight_of(at));
  if (weight.present()) {
    backend_->run(LinearBackward{
        .d_y = of.d_y, .x = of.x, .weight = weight, .d_x = of.d_x, .d_weight = {}, .d_bias = {}});
    return;
  }
  const QuantisedMatrix& blocks =
      inputs_.weights.placed[static_cast<std::size_t>(weight_of(at))].blocks;
  const std::int64_t bytes =
      quantised_backward_scratch_bytes(backend_->traits(), blocks.row_elements(), blocks.rows());
  const ArenaScope scope(*arena_);
  backend_->run(
      QuantisedLinearBackward{.d_y = of.d_y,
                              .weight = blocks,
                              .d_x = of.d_x,
                              .scratch = arena_->borrow(MemoryRole::workspace, DType::u8, {bytes},
                                                        {"widened weights", at.layer})});
}

void BlockProducts::forward_in_fp8(Place at, const Linear& op) const {
  const ArenaScope scope(*arena_);
  const Tensor x = borrow(op.x.shape, "product's input in FP8", at);
  quantise(op.x, Matrix::input, at, x, {});
  backend_->run(LinearFp8{.in_rows_type = op,
                          .x = {x, scale(Matrix::input, at)},
                          .weight = {weight_codes(at), scale(Matrix::weight, at)}});
}

void BlockProducts::backward_in_fp8(Place at, const LinearBackward& op) const {
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
