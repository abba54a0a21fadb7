// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/frozen_cases.h"

#include <algorithm>

#include "tests/engine/backend/case_maker.h"
#include "tests/support/in_arena.h"

namespace athanor {
namespace {

std::string text_of(BlockFormat format) {
  return std::string(names_of(format)[static_cast<std::size_t>(format)]);
}

struct QuantisedProduct {
  std::int64_t rows = 1;
  std::int64_t in = 32;
  std::int64_t out = 1;
  bool bias = false;
  double weight_scale = 1;
};

/// Enough on every backend.
std::int64_t most_scratch_bytes(const QuantisedProduct& product) {
  const auto bytes = [&](std::int64_t few_rows) {
    return quantised_linear_scratch_bytes({.few_quantised_rows = few_rows}, product.rows,
                                          product.in, product.out);
  };
  return std::max(bytes(product.rows), bytes(0));
}

AnyOperation build(Arena& arena, BlockFormat format, const QuantisedProduct& product) {
  CaseMaker maker(arena);
  QuantisedLinear op{
      .x = maker.random({product.rows, product.in}),
      .weight = maker.quantised(format, product.out, product.in, product.weight_scale),
      .bias = {},
      .y = maker.space({product.rows, product.out}),
      .scratch = zero_tensor(arena, DType::u8, {most_scratch_bytes(product)})};
  if (product.bias) op.bias = maker.random({product.out});
  return op;
}

AnyOperation build_backward(Arena& arena, BlockFormat format, const QuantisedProduct& product) {
  CaseMaker maker(arena);
  const auto bytes = [&](bool bf16_only) {
    return quantised_backward_scratch_bytes({.bf16_only = bf16_only}, product.in, product.out);
  };
  return QuantisedLinearBackward{
      .d_y = maker.random({product.rows, product.out}),
      .weight = maker.quantised(format, product.out, product.in, product.weight_scale),
      .d_x = maker.space({product.rows, product.in}),
      .scratch = zero_tensor(arena, DType::u8, {std::max(bytes(false), bytes(true))})};
}

void add_product(std::vector<OperationCase>& cases, const QuantisedProduct& product) {
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0}) {
    const std::string text = std::to_string(product.rows) + "x" + std::to_string(product.in) + "x" +
                             std::to_string(product.out) + (product.bias ? ", bias" : "") +
                             (product.weight_scale < 1 ? ", tiny weights" : "");
    cases.push_back({text_of(format) + " linear, " + text, Operation::quantised_linear, 0, 1,
                     [=](Arena& arena) { return build(arena, format, product); }});
    if (product.bias) continue;
    cases.push_back({text_of(format) + " linear backward, " + text,
                     Operation::quantised_linear_backward, 0, 1,
                     [=](Arena& arena) { return build_backward(arena, format, product); }});
  }
}

void add_embedding(std::vector<OperationCase>& cases, std::int64_t rows, std::int64_t vocabulary,
                   std::int64_t width) {
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0}) {
    cases.push_back({text_of(format) + " embedding, " + std::to_string(rows) + "x" +
                         std::to_string(vocabulary) + "x" + std::to_string(width),
                     Operation::quantised_embedding, 0, 1, [=](Arena& arena) -> AnyOperation {
                       CaseMaker maker(arena);
                       return QuantisedEmbedding{
                           .table = maker.quantised(format, vocabulary, width),
                           .tokens = maker.tokens(rows, vocabulary),
                           .out = maker.space({rows, width})};
                     }});
  }
}

struct Adapter {
  std::int64_t rows = 1;
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t rank = 1;
  float dropout_rate = 0;
  bool d_x = true;
  bool y = true;
  /// Columns of the product that come before and after its own.
  std::int64_t before = 0;
  std::int64_t after = 0;

  std::string text() const {
    return std::to_string(rows) + "x" + std::to_string(in) + "x" + std::to_string(out) + " by " +
           std::to_string(rank) + (dropout_rate > 0 ? ", dropout" : "") + (d_x ? "" : ", no d_x") +
           (y ? "" : ", no y") + (before + after > 0 ? ", one of several" : "");
  }
};

Lora build_forward(CaseMaker& maker, const Adapter& adapter) {
  Lora op{.x = maker.random({adapter.rows, adapter.in}),
          .dropout = {adapter.dropout_rate, 0x123456789ABCULL, 0x700000002ULL},
          .dropped = {},
          .a = maker.random({adapter.rank, adapter.in}, 0.3),
          .b = maker.random({adapter.out, adapter.rank}, 0.3),
          .scale = 1.7F,
          .h = maker.space({adapter.rows, adapter.rank}),
          .y = maker.random({adapter.rows, adapter.before + adapter.out + adapter.after}),
          .first_column = adapter.before};
  if (adapter.dropout_rate > 0) op.dropped = maker.space(op.x.shape);
  return op;
}

AnyOperation build_backward(CaseMaker& maker, const Adapter& adapter) {
  const Lora forward = build_forward(maker, adapter);
  maker.reference().run(forward);
  LoraBackward op{.d_y = maker.random(forward.y.shape),
                  .x = forward.x,
                  .dropout = forward.dropout,
                  .dropped = forward.dropped,
                  .a = forward.a,
                  .b = forward.b,
                  .scale = forward.scale,
                  .h = forward.h,
                  .d_h = maker.space(forward.h.shape),
                  .d_a = maker.random(forward.a.shape),
                  .d_b = maker.random(forward.b.shape),
                  .d_x = {},
                  .first_column = forward.first_column};
  if (adapter.d_x) op.d_x = maker.random(forward.x.shape);
  return op;
}

void add_lora(std::vector<OperationCase>& cases, const Adapter& adapter) {
  cases.push_back(
      {"LoRA, " + adapter.text(), Operation::lora, 0, 1, [=](Arena& arena) -> AnyOperation {
         CaseMaker maker(arena);
         Lora op = build_forward(maker, adapter);
         if (!adapter.y) op.y = {};
         return op;
       }});
  cases.push_back({"LoRA backward, " + adapter.text(), Operation::lora_backward, 0, 1,
                   [=](Arena& arena) -> AnyOperation {
                     CaseMaker maker(arena);
                     return build_backward(maker, adapter);
                   }});
}

}  // namespace

void add_frozen_cases(std::vector<OperationCase>& cases) {
  add_embedding(cases, 1, 5, 32);
  add_embedding(cases, 67, 257, 96);
  add_product(cases, {1, 32, 1});
  add_product(cases, {1, 576, 67, true});
  add_product(cases, {1, 64, 33, true, 2e-5});
  // More blocks than scales that are widened at once, and more than a warp reads at once.
  add_product(cases, {1, 4160, 5});
  add_product(cases, {2, 96, 65});
  add_product(cases, {3, 1056, 31, true});
  add_product(cases, {5, 160, 3});
  add_product(cases, {8, 256, 64, true});
  add_product(cases, {9, 128, 70, true});
  add_product(cases, {67, 96, 130});
  add_product(cases, {11, 1056, 40});
  add_lora(cases, {1, 1, 1, 1});
  add_lora(cases, {3, 40, 33, 8});
  add_lora(cases, {3, 33, 20, 4, 0.25F});
  add_lora(cases, {67, 64, 130, 8});
  add_lora(cases, {67, 64, 48, 16, 0.1F});
  add_lora(cases, {40, 33, 31, 5, 0.5F, false});
  add_lora(cases, {129, 20, 9, 3, 0, false});
  add_lora(cases, {67, 64, 48, 8, 0.1F, true, true, 96, 24});
  add_lora(cases, {3, 40, 33, 8, 0, true, true, 7, 5});
  add_lora(cases, {9, 32, 24, 4, 0, true, false});
}

void add_frozen_benchmarks(std::vector<OperationCase>& cases) {
  for (const std::int64_t rows : {1, 8, 512})
    add_product(cases, {rows, 1024, 4096});
  add_lora(cases, {512, 384, 1024, 16});
}

}  // namespace athanor
