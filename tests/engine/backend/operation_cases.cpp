// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/operation_cases.h"

#include <algorithm>
#include <cmath>

#include "tests/engine/backend/attention_cases.h"
#include "tests/engine/backend/case_maker.h"
#include "tests/engine/backend/case_variants.h"
#include "tests/engine/backend/frozen_cases.h"
#include "tests/engine/backend/optimizer_cases.h"

namespace athanor {
namespace {

void add_embedding(std::vector<OperationCase>& cases, std::int64_t rows, std::int64_t vocabulary,
                   std::int64_t width) {
  const std::string text = extents({rows, vocabulary, width});
  cases.push_back(
      {"embedding, " + text, Operation::embedding, 0, 1, [=](Arena& arena) -> AnyOperation {
         CaseMaker maker(arena);
         return Embedding{.table = maker.random({vocabulary, width}),
                          .tokens = maker.tokens(rows, vocabulary),
                          .out = maker.space({rows, width})};
       }});
  cases.push_back({"embedding backward, " + text, Operation::embedding_backward, 0, 1,
                   [=](Arena& arena) -> AnyOperation {
                     CaseMaker maker(arena);
                     return EmbeddingBackward{.d_out = maker.random({rows, width}),
                                              .tokens = maker.tokens(rows, vocabulary),
                                              .d_table = maker.random({vocabulary, width})};
                   }});
}

struct Norm {
  std::int64_t rows = 1;
  std::int64_t width = 32;
  float dropout_rate = 0;
  bool branch = true;     ///< forward: with a branch; backward: with a gradient from further on
  bool in_place = false;  ///< backward: d_sum is d_residual, or sum where there is none
  bool frozen = false;

  Dropout dropout() const { return {dropout_rate, 0x123456789ABCULL, 0x700000002ULL}; }
  std::string text() const {
    return extents({rows, width}) + (branch ? "" : ", alone") +
           (dropout_rate > 0 ? ", dropout" : "") + (in_place ? ", in place" : "") +
           (frozen ? ", frozen" : "");
  }
};

AnyOperation build_add_norm(Arena& arena, const Norm& norm) {
  CaseMaker maker(arena);
  const Shape shape{norm.rows, norm.width};
  AddNorm op{.input = maker.random(shape),
             .branch = {},
             .dropout = norm.dropout(),
             .weight = maker.norm_weight(norm.width),
             .sum = {},
             .out = maker.space(shape),
             .rstd = maker.space({norm.rows})};
  if (norm.branch) {
    op.branch = maker.random(shape, 0.5);
    op.sum = maker.space(shape);
  }
  return op;
}

AnyOperation build_norm_again(Arena& arena, const Norm& norm) {
  CaseMaker maker(arena);
  const Shape shape{norm.rows, norm.width};
  return NormAgain{.x = maker.random(shape),
                   .rstd = maker.random({norm.rows}),
                   .weight = maker.norm_weight(norm.width),
                   .out = maker.space(shape)};
}

AnyOperation build_add_norm_backward(Arena& arena, const Norm& norm) {
  CaseMaker maker(arena);
  const Shape shape{norm.rows, norm.width};
  const AddNorm forward{.input = maker.random(shape),
                        .branch = {},
                        .dropout = {},
                        .weight = maker.norm_weight(norm.width),
                        .sum = {},
                        .out = maker.space(shape),
                        .rstd = maker.space({norm.rows})};
  maker.reference().run(forward);
  AddNormBackward op{.d_out = maker.random(shape),
                     .d_residual = {},
                     .sum = forward.input,
                     .weight = forward.weight,
                     .rstd = forward.rstd,
                     .dropout = norm.dropout(),
                     .d_sum = maker.space(shape),
                     .d_branch = {},
                     .d_weight = maker.random({norm.width}),
                     .scratch = maker.space({kReductionParts, norm.width})};
  if (norm.branch) op.d_residual = maker.random(shape);
  if (norm.in_place) op.d_sum = norm.branch ? op.d_residual : op.sum;
  if (norm.dropout_rate > 0) op.d_branch = maker.space(shape);
  if (norm.frozen) op.d_weight = {};
  return op;
}

void add_norm(std::vector<OperationCase>& cases, const Norm& norm) {
  if (!norm.in_place) {
    cases.push_back({"add and norm, " + norm.text(), Operation::add_norm, 0, 1,
                     [=](Arena& arena) { return build_add_norm(arena, norm); }});
    cases.push_back({"norm again, " + norm.text(), Operation::norm_again, 0, 1,
                     [=](Arena& arena) { return build_norm_again(arena, norm); }});
  }
  cases.push_back({"add and norm backward, " + norm.text(), Operation::add_norm_backward, 0, 1,
                   [=](Arena& arena) { return build_add_norm_backward(arena, norm); }});
}

struct Product {
  std::int64_t rows = 1;
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool bias = false;
  bool d_x = true;
  bool frozen = false;
};

AnyOperation build_linear(Arena& arena, const Product& product) {
  CaseMaker maker(arena);
  Linear op{.x = maker.random({product.rows, product.in}),
            .weight = maker.random({product.out, product.in}),
            .bias = {},
            .y = maker.space({product.rows, product.out})};
  if (product.bias) op.bias = maker.random({product.out});
  return op;
}

AnyOperation build_linear_backward(Arena& arena, const Product& product) {
  CaseMaker maker(arena);
  LinearBackward op{.d_y = maker.random({product.rows, product.out}),
                    .x = maker.random({product.rows, product.in}),
                    .weight = maker.random({product.out, product.in}),
                    .d_x = {},
                    .d_weight = maker.random({product.out, product.in}),
                    .d_bias = {}};
  if (product.d_x) op.d_x = maker.space({product.rows, product.in});
  if (product.bias) op.d_bias = maker.random({product.out});
  if (product.frozen) op.d_weight = {};
  return op;
}

void add_linear(std::vector<OperationCase>& cases, const Product& product) {
  const std::string text = extents({product.rows, product.in, product.out}) +
                           (product.bias ? ", bias" : "") + (product.d_x ? "" : ", no d_x") +
                           (product.frozen ? ", frozen" : "");
  cases.push_back({"linear, " + text, Operation::linear, 0, 1,
                   [=](Arena& arena) { return build_linear(arena, product); }});
  cases.push_back({"linear backward, " + text, Operation::linear_backward, 0, 1,
                   [=](Arena& arena) { return build_linear_backward(arena, product); }});
}

void add_activation(std::vector<OperationCase>& cases, Activation activation, std::int64_t rows,
                    std::int64_t width, double scale, bool in_place = false) {
  const std::int64_t pre_width = activation == Activation::swiglu ? 2 * width : width;
  const std::string text = std::string(names_of(activation)[static_cast<std::size_t>(activation)]) +
                           ", " + extents({rows, width}) + (scale > 1 ? ", large" : "") +
                           (in_place ? ", in place" : "");
  if (!in_place) {
    cases.push_back({"activation " + text, Operation::mlp_activation, 0, scale,
                     [=](Arena& arena) -> AnyOperation {
                       CaseMaker maker(arena);
                       return MlpActivation{.activation = activation,
                                            .pre = maker.random({rows, pre_width}, scale),
                                            .out = maker.space({rows, width})};
                     }});
  }
  cases.push_back({"activation backward " + text, Operation::mlp_activation_backward, 0, scale,
                   [=](Arena& arena) -> AnyOperation {
                     CaseMaker maker(arena);
                     MlpActivationBackward op{.activation = activation,
                                              .pre = maker.random({rows, pre_width}, scale),
                                              .d_out = maker.random({rows, width}),
                                              .d_pre = {}};
                     op.d_pre = in_place ? op.pre : maker.space({rows, pre_width});
                     return op;
                   }});
}

struct Head {
  std::int64_t rows = 1;
  std::int64_t width = 32;
  std::int64_t vocabulary = 257;
  std::int64_t chunk = 1;
  std::int64_t masked_every = 0;  ///< 1 masks every row, 0 none
  double largest_logit = 4;
  bool gradients = true;
  bool frozen = false;
  bool weighed = false;  ///< with a factor for each row
};

AnyOperation build_head_loss(Arena& arena, const Head& head) {
  CaseMaker maker(arena);
  const double weight_scale = head.largest_logit / (4 * std::sqrt(static_cast<double>(head.width)));
  HeadLoss op{.x = maker.random({head.rows, head.width}),
              .weight = maker.random({head.vocabulary, head.width}, weight_scale),
              .targets = maker.targets(head.rows, head.vocabulary, head.masked_every),
              .losses = maker.space({head.rows}),
              .gradient_scale = 0,
              .d_x = {},
              .d_weight = {},
              .logits = maker.space({head.chunk, head.vocabulary})};
  if (head.gradients) {
    op.gradient_scale = 1.0 / static_cast<double>(head.rows);
    op.d_x = maker.space({head.rows, head.width});
    if (!head.frozen) op.d_weight = maker.random({head.vocabulary, head.width}, 0.01);
  }
  if (head.weighed) {
    op.row_factors = maker.space({head.rows});
    for (std::int64_t row = 0; row < head.rows; ++row)
      op.row_factors.as<double>()[row] = std::cos(static_cast<double>(row));
  }
  return op;
}

void add_head_loss(std::vector<OperationCase>& cases, const Head& head) {
  constexpr double kOrdinary_logit = 4;
  const bool large = head.largest_logit > kOrdinary_logit;
  const std::string text =
      extents({head.rows, head.width, head.vocabulary}) + " by " + std::to_string(head.chunk) +
      (head.masked_every > 0 ? ", masked by " + std::to_string(head.masked_every) : "") +
      (large ? ", large logits" : "") + (head.gradients ? "" : ", losses only") +
      (head.frozen ? ", frozen" : "") + (head.weighed ? ", weighed" : "");
  cases.push_back({"head loss, " + text, Operation::head_loss, 0, large ? head.largest_logit : 1,
                   [=](Arena& arena) { return build_head_loss(arena, head); }});
}

void add_host_copies(std::vector<OperationCase>& cases, std::int64_t size) {
  const std::string text = std::to_string(size);
  cases.push_back(
      {"from host, " + text, Operation::from_host, 0, 1, [=](Arena& arena) -> AnyOperation {
         CaseMaker maker(arena);
         return FromHost{.host = maker.random({size}), .to = maker.space({size})};
       }});
  cases.push_back({"to host, " + text, Operation::to_host, 0, 1, [=](Arena& arena) -> AnyOperation {
                     CaseMaker maker(arena);
                     return ToHost{.from = maker.random({size}), .host = maker.space({size})};
                   }});
}

void add_sum_of_squares(std::vector<OperationCase>& cases, std::int64_t size) {
  cases.push_back({"sum of squares, " + std::to_string(size), Operation::sum_of_squares, 0, 1,
                   [=](Arena& arena) -> AnyOperation {
                     CaseMaker maker(arena);
                     return SumOfSquares{.x = maker.random({size}), .result = maker.space({1})};
                   }});
}

constexpr Activation kActivations[] = {Activation::swiglu, Activation::gelu, Activation::silu,
                                       Activation::relu2};

}  // namespace

std::vector<OperationCase> operation_cases() {
  std::vector<OperationCase> cases;
  add_embedding(cases, 1, 5, 8);
  add_embedding(cases, 67, 257, 33);
  add_embedding(cases, 300, 11, 64);
  for (const std::int64_t rows : {1, 15, 16, 67}) {
    add_norm(cases, {rows, 64});
    add_norm(cases, {rows, 37, 0.3F});
  }
  add_norm(cases, {33, 200, 0, false});
  add_norm(cases, {33, 200, 0.1F, true, true});
  add_norm(cases, {5, 1, 0, true, true});
  add_norm(cases, {33, 200, 0.1F, false, true});
  add_norm(cases, {33, 200, 0.1F, true, true, true});
  add_linear(cases, {1, 1, 1});
  add_linear(cases, {1, 257, 33, true});
  add_linear(cases, {3, 4, 5, true});
  add_linear(cases, {64, 64, 64});
  add_linear(cases, {67, 130, 257, true});
  add_linear(cases, {129, 96, 31, false, false});
  add_linear(cases, {17, 600, 40});
  add_linear(cases, {300, 20, 9, true});
  add_linear(cases, {67, 130, 33, false, true, true});
  for (const Activation activation : kActivations) {
    add_activation(cases, activation, 1, 1, 1);
    add_activation(cases, activation, 13, 67, 1);
    add_activation(cases, activation, 13, 67, 1, true);
    add_activation(cases, activation, 5, 130, 30);
  }
  add_head_loss(cases, {1, 32, 257, 1});
  add_head_loss(cases, {67, 32, 257, 16, 3});
  add_head_loss(cases, {64, 64, 100, 64});
  add_head_loss(cases, {50, 33, 257, 7, 4, 4, false});
  add_head_loss(cases, {40, 64, 257, 13, 5, 80});
  add_head_loss(cases, {9, 16, 31, 4, 1});
  add_head_loss(cases, {67, 32, 257, 16, 3, 4, true, true});
  add_head_loss(cases, {40, 33, 100, 13, 4, 4, true, true, true});
  add_head_loss(cases, {21, 16, 64, 64, 0, 4, true, false, true});
  for (const std::int64_t size : {1, 17, 1000, 20011}) {
    add_sum_of_squares(cases, size);
    add_host_copies(cases, size);
  }
  add_optimizer_cases(cases);
  add_attention_cases(cases);
  add_frozen_cases(cases);
  add_variants(cases);
  return cases;
}

std::vector<OperationCase> benchmark_cases() {
  constexpr std::int64_t kTokens = 512;
  constexpr std::int64_t kWidth = 384;
  constexpr std::int64_t kHidden = 1024;
  constexpr std::int64_t kVocabulary = 4096;
  std::vector<OperationCase> cases;
  add_embedding(cases, kTokens, kVocabulary, kWidth);
  add_norm(cases, {kTokens, kWidth});
  add_norm(cases, {kTokens, kWidth, 0.1F});
  add_linear(cases, {kTokens, kWidth, 2 * kHidden});
  add_linear(cases, {kTokens, kHidden, kWidth});
  for (const Activation activation : kActivations) {
    add_activation(cases, activation, kTokens, kHidden, 1);
  }
  add_head_loss(cases, {kTokens, kWidth, kVocabulary, 128});
  add_sum_of_squares(cases, std::int64_t{1} << 22);
  add_optimizer_benchmarks(cases);
  add_attention_benchmarks(cases);
  add_frozen_benchmarks(cases);
  return cases;
}

}  // namespace athanor
