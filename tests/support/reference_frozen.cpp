// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/reference_backend.h"

/// What stands beside or in place of frozen weights.
namespace athanor {
namespace {

/// Of finite numbers.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits >= 0x8000 ? -magnitude : magnitude;
}

/// to += aᵀ · b, where a may have more columns than `to` rows: those from `first` count.
void add_outer(const Tensor& to, const Tensor& a, const Tensor& b, std::int64_t first = 0) {
  const std::int64_t columns = b.row_elements();
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    for (std::int64_t i = 0; i < to.elements(); ++i) {
      to.as<double>()[i] += a.as<double>()[row * a.row_elements() + first + i / columns] *
                            b.as<double>()[row * columns + i % columns];
    }
  }
}

}  // namespace

double ReferenceBackend::element_of(const QuantisedMatrix& matrix, std::int64_t row,
                                    std::int64_t column) {
  const std::int64_t block = row * matrix.scales.row_elements() + column / 32;
  const std::int64_t i = column % 32;
  const double scale = half_value(matrix.scales.as<std::uint16_t>()[block]);
  const std::uint8_t* codes = matrix.codes.as<std::uint8_t>();
  if (matrix.format == BlockFormat::q8_0) {
    const int code = codes[block * 32 + i];
    return scale * (code < 128 ? code : code - 256);
  }
  const int both = codes[block * 16 + i % 16];
  return scale * ((i < 16 ? both % 16 : both / 16) - 8);
}

void ReferenceBackend::run(const QuantisedEmbedding& op) {
  const std::int64_t width = op.out.row_elements();
  for (std::int64_t i = 0; i < op.out.elements(); ++i) {
    op.out.as<double>()[i] =
        element_of(op.table, op.tokens.as<std::int32_t>()[i / width], i % width);
  }
}

namespace {

std::vector<double> numbers_of(const QuantisedMatrix& matrix) {
  std::vector<double> numbers;
  for (std::int64_t row = 0; row < matrix.rows(); ++row)
    for (std::int64_t i = 0; i < matrix.row_elements(); ++i)
      numbers.push_back(ReferenceBackend::element_of(matrix, row, i));
  return numbers;
}

}  // namespace

void ReferenceBackend::run(const QuantisedLinearBackward& op) {
  std::vector<double> weight = numbers_of(op.weight);
  run(LinearBackward{.d_y = op.d_y,
                     .x = op.d_x,
                     .weight = {reinterpret_cast<std::byte*>(weight.data()),
                                DType::f64,
                                {op.weight.rows(), op.weight.row_elements()}},
                     .d_x = op.d_x,
                     .d_weight = {},
                     .d_bias = {}});
}

void ReferenceBackend::run(const QuantisedLinear& op) {
  std::vector<double> weight = numbers_of(op.weight);
  const Tensor dense{reinterpret_cast<std::byte*>(weight.data()),
                     DType::f64,
                     {op.weight.rows(), op.x.row_elements()}};
  run(Linear{.x = op.x, .weight = dense, .bias = op.bias, .y = op.y});
}

void ReferenceBackend::run(const Lora& op) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t rank = op.h.row_elements();
  for (std::int64_t i = 0; i < op.h.elements(); ++i) {
    const std::int64_t row = i / rank;
    double sum = 0;
    for (std::int64_t k = row * in; k < (row + 1) * in; ++k) {
      sum += dropout_factor(op.dropout, k) * op.x.as<double>()[k] *
             op.a.as<double>()[i % rank * in + k % in];
    }
    op.h.as<double>()[i] = op.scale * sum;
  }
  if (op.y.present()) add_from_h(op, op.h);
}

void ReferenceBackend::add_from_h(const Lora& op, const Tensor& h) {
  const std::int64_t rank = h.row_elements();
  const std::int64_t out = op.b.rows();
  for (std::int64_t i = 0; i < op.y.rows() * out; ++i) {
    double& y = op.y.as<double>()[i / out * op.y.row_elements() + op.first_column + i % out];
    for (std::int64_t r = 0; r < rank; ++r)
      y += h.as<double>()[i / out * rank + r] * op.b.as<double>()[i % out * rank + r];
  }
}

void ReferenceBackend::run(const LoraBackward& op) {
  const std::int64_t rank = op.h.row_elements();
  const std::int64_t out = op.b.rows();
  for (std::int64_t i = 0; i < op.d_h.elements(); ++i) {
    double sum = 0;
    const double* d_y = op.d_y.as<double>() + i / rank * op.d_y.row_elements() + op.first_column;
    for (std::int64_t o = 0; o < out; ++o)
      sum += d_y[o] * op.b.as<double>()[o * rank + i % rank];
    op.d_h.as<double>()[i] = op.scale * sum;
  }
  add_outer(op.d_b, op.d_y, op.h, op.first_column);
  if (op.dropped.present()) {
    for (std::int64_t i = 0; i < op.x.elements(); ++i)
      op.dropped.as<double>()[i] = dropout_factor(op.dropout, i) * op.x.as<double>()[i];
  }
  add_from_d_h(op, op.d_h);
}

void ReferenceBackend::add_from_d_h(const LoraBackward& op, const Tensor& d_h) {
  add_outer(op.d_a, d_h, op.dropped.present() ? op.dropped : op.x);
  if (!op.d_x.present()) return;
  const std::int64_t rank = d_h.row_elements();
  const std::int64_t in = op.x.row_elements();
  for (std::int64_t i = 0; i < op.d_x.elements(); ++i) {
    double sum = 0;
    for (std::int64_t r = 0; r < rank; ++r)
      sum += d_h.as<double>()[i / in * rank + r] * op.a.as<double>()[r * in + i % in];
    op.d_x.as<double>()[i] += dropout_factor(op.dropout, i) * sum;
  }
}

}  // namespace athanor
