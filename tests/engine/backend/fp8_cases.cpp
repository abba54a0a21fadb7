// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/fp8_cases.h"

#include <algorithm>
#include <iterator>

#include "tests/engine/backend/case_maker.h"
#include "tests/support/in_arena.h"

namespace athanor {
namespace {

std::string extents(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

Tensor codes_of(Arena& arena, Shape shape) {
  return zero_tensor(arena, DType::u8, shape);
}

AnyOperation build_peak(Arena& arena, std::int64_t rows, std::int64_t columns) {
  CaseMaker maker(arena);
  return Peak{.x = maker.random({rows, columns}), .peak = maker.space({1})};
}

struct Codes {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  bool codes = true;
  bool transposed = true;
  double size = 1;  ///< of the numbers; scales are of every exponent
};

AnyOperation build_quantise(Arena& arena, const Codes& made) {
  CaseMaker maker(arena);
  const Shape shape{made.rows, made.columns};
  Quantise op{.x = maker.random(shape, made.size),
              .peak = maker.space({1}),
              .codes = {},
              .transposed = {},
              .scale = maker.space({1})};
  if (made.codes) op.codes = codes_of(arena, shape);
  if (made.transposed) op.transposed = codes_of(arena, {made.columns, made.rows});
  maker.reference().run(Peak{.x = op.x, .peak = op.peak});
  return op;
}

/// Codes of x, or of xᵀ.
Fp8 quantised(Arena& arena, CaseMaker& maker, const Tensor& x, bool transposed) {
  const std::int64_t rows = x.rows();
  const std::int64_t columns = x.row_elements();
  const Tensor peak = maker.space({1});
  Fp8 matrix{.codes = codes_of(arena, transposed ? Shape{columns, rows} : Shape{rows, columns}),
             .scale = maker.space({1})};
  maker.reference().run(Peak{.x = x, .peak = peak});
  maker.reference().run(Quantise{.x = x,
                                 .peak = peak,
                                 .codes = transposed ? Tensor() : matrix.codes,
                                 .transposed = transposed ? matrix.codes : Tensor(),
                                 .scale = matrix.scale});
  return matrix;
}

struct Product {
  std::int64_t rows = 16;
  std::int64_t in = 16;
  std::int64_t out = 16;
  bool bias = false;
};

AnyOperation build_linear(Arena& arena, const Product& product) {
  CaseMaker maker(arena);
  Linear as{.x = maker.random({product.rows, product.in}),
            .weight = maker.random({product.out, product.in}, 0.02),
            .bias = {},
            .y = maker.space({product.rows, product.out})};
  if (product.bias) as.bias = maker.random({product.out});
  return LinearFp8{.in_rows_type = as,
                   .x = quantised(arena, maker, as.x, false),
                   .weight = quantised(arena, maker, as.weight, false)};
}

AnyOperation build_linear_backward(Arena& arena, const Product& product) {
  CaseMaker maker(arena);
  LinearBackward as{.d_y = maker.random({product.rows, product.out}, 1e-4),
                    .x = maker.random({product.rows, product.in}),
                    .weight = maker.random({product.out, product.in}, 0.02),
                    .d_x = maker.space({product.rows, product.in}),
                    .d_weight = maker.random({product.out, product.in}, 1e-4),
                    .d_bias = {}};
  if (product.bias) as.d_bias = maker.random({product.out}, 1e-4);
  return LinearBackwardFp8{.in_rows_type = as,
                           .d_y = quantised(arena, maker, as.d_y, false),
                           .d_y_transposed = quantised(arena, maker, as.d_y, true),
                           .x_transposed = quantised(arena, maker, as.x, true),
                           .weight_transposed = quantised(arena, maker, as.weight, true)};
}

void add_products(std::vector<OperationCase>& cases) {
  for (const Product& product : {Product{}, Product{.rows = 48, .in = 64, .out = 32, .bias = true},
                                 Product{.rows = 128, .in = 208, .out = 80}}) {
    const std::string text =
        extents({product.rows, product.in, product.out}) + (product.bias ? ", bias" : "");
    cases.push_back({"linear in FP8, " + text, Operation::linear_fp8, 0, 1,
                     [=](Arena& arena) { return build_linear(arena, product); }});
    cases.push_back({"linear backward in FP8, " + text, Operation::linear_backward_fp8, 0, 1,
                     [=](Arena& arena) { return build_linear_backward(arena, product); }});
  }
}

/// Of rows in `rows` of the table: the same with a peak.
void add_with_peaks(std::vector<OperationCase>& cases) {
  for (const OperationCase& row : operation_cases()) {
    if (row.operation != Operation::add_norm && row.operation != Operation::add_norm_backward &&
        row.operation != Operation::attention && row.operation != Operation::mlp_activation &&
        row.operation != Operation::mlp_activation_backward)
      continue;
    OperationCase with_peak = row;
    with_peak.name += ", peak";
    with_peak.build = [build = row.build](Arena& arena) {
      AnyOperation operation = build(arena);
      std::visit(
          [&](auto& op) {
            if constexpr (requires { op.peak; }) op.peak = zero_tensor(arena, DType::f64, {1});
          },
          operation);
      return operation;
    };
    cases.push_back(std::move(with_peak));
  }
}

std::vector<OperationCase> fp8_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 7}, {64, 64}, {17, 200}, {300, 512}}) {
    cases.push_back({"peak, " + extents({rows, columns}), Operation::peak, 0, 1,
                     [rows = rows, columns = columns](Arena& arena) {
                       return build_peak(arena, rows, columns);
                     }});
  }
  for (const Codes& codes :
       {Codes{}, Codes{.rows = 3, .columns = 7, .size = 1e-30}, Codes{.rows = 64, .columns = 64},
        Codes{.rows = 65, .columns = 72, .codes = false, .size = 1e20},
        Codes{.rows = 100, .columns = 136, .transposed = false, .size = 1e-6},
        Codes{.rows = 132, .columns = 200, .size = 1e-3},
        Codes{.rows = 70, .columns = 131, .size = 5e-39}}) {
    const std::string parts = std::string(codes.codes ? "" : ", transposed alone") +
                              (codes.transposed ? "" : ", not transposed");
    cases.push_back({"quantise, " + extents({codes.rows, codes.columns}) + parts,
                     Operation::quantise, 0, 1,
                     [=](Arena& arena) { return build_quantise(arena, codes); }});
  }
  add_products(cases);
  add_with_peaks(cases);
  return cases;
}

}  // namespace

std::vector<OperationCase> cases_for(const BackendTraits& traits) {
  std::vector<OperationCase> cases = operation_cases();
  if (traits.fp8) std::ranges::move(fp8_cases(), std::back_inserter(cases));
  return cases;
}

}  // namespace athanor
