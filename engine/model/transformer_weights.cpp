// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

/// How a transformer's passes use weights: as numbers, in blocks of codes, or in FP8.
namespace athanor {

Tensor Transformer::numbers(const ModelWeights& weights, int id) const {
  if (weights.placed.empty()) return parameters_.view(weights.flat, id);
  return id < 0 ? Tensor() : weights.placed[static_cast<std::size_t>(id)].numbers;
}

void Transformer::embed(const ModelWeights& weights, const Tensor& tokens,
                        const Tensor& out) const {
  const Tensor table = numbers(weights, parameters_.embedding());
  if (table.present()) {
    backend_.run(Embedding{.table = table, .tokens = tokens, .out = out});
    return;
  }
  const auto id = static_cast<std::size_t>(parameters_.embedding());
  backend_.run(
      QuantisedEmbedding{.table = weights.placed[id].blocks, .tokens = tokens, .out = out});
}

void Transformer::multiply(const ModelWeights& weights, const Tensor& x, int weight, int bias,
                           const Tensor& y, Arena& arena) const {
  const Tensor matrix = numbers(weights, weight);
  if (matrix.present()) {
    backend_.run(Linear{.x = x, .weight = matrix, .bias = numbers(weights, bias), .y = y});
    return;
  }
  const QuantisedMatrix& blocks = weights.placed[static_cast<std::size_t>(weight)].blocks;
  const std::int64_t scratch_bytes = quantised_linear_scratch_bytes(
      backend_.traits(), x.rows(), blocks.row_elements(), blocks.rows());
  const Arena::Mark mark = arena.mark();
  const Tensor scratch = arena.borrow(MemoryRole::workspace, DType::u8, {scratch_bytes},
                                      {"quantised product's scratch"});
  backend_.run(QuantisedLinear{
      .x = x, .weight = blocks, .bias = numbers(weights, bias), .y = y, .scratch = scratch});
  arena.rewind_borrowed(mark);
}

void Transformer::multiply_in_block(const BlockProducts& products, BlockProducts::Place at,
                                    const ModelWeights& weights, const Tensor& x, int weight,
                                    int bias, const Tensor& y, Arena& arena) const {
  if (!products.in_fp8()) {
    multiply(weights, x, weight, bias, y, arena);
    return;
  }
  products.forward(
      at, {.x = x, .weight = numbers(weights, weight), .bias = numbers(weights, bias), .y = y});
}

}  // namespace athanor
