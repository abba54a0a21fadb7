// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

constexpr std::uint8_t kNot_a_number = 0x7F;
constexpr double kLargest = 448;

/// By the definition: 1 bit of sign, 4 of exponent, 3 of fraction, and no infinities.
double code_value(int code) {
  if ((code & 0x7F) == kNot_a_number) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = (code & 0x78) >> 3;
  const double fraction = (code & 0x07) / 8.0;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -6) : std::ldexp(1 + fraction, exponent - 7);
  return code < 0x80 ? magnitude : -magnitude;
}

/// Of all codes, one after the other.
std::uint8_t nearest_code(double x) {
  if (std::isnan(x)) return kNot_a_number;
  const double magnitude = std::min(std::abs(x), kLargest);
  int nearest = 0;
  for (int code = 1; code < kNot_a_number; ++code) {
    const double distance = std::abs(code_value(code) - magnitude);
    const double least = std::abs(code_value(nearest) - magnitude);
    if (distance < least || (distance == least && code % 2 == 0)) nearest = code;
  }
  return static_cast<std::uint8_t>(std::signbit(x) ? nearest | 0x80 : nearest);
}

double scale_for(double peak) {
  if (!std::isfinite(peak)) return std::numeric_limits<double>::quiet_NaN();
  double scale = 0x1p-126;
  while (peak / scale > kLargest)
    scale *= 2;
  return scale;
}

/// The numbers of a matrix, or of its transpose.
Tensor numbers_of(const Fp8& matrix, bool transposed, std::vector<double>& memory) {
  const std::int64_t rows = matrix.codes.rows();
  const std::int64_t columns = matrix.codes.row_elements();
  memory.resize(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t place = transposed ? i * rows + row : row * columns + i;
      memory[static_cast<std::size_t>(place)] =
          code_value(matrix.codes.as<std::uint8_t>()[row * columns + i]) *
          value_at(matrix.scale, 0);
    }
  }
  return {reinterpret_cast<std::byte*>(memory.data()), DType::f64,
          transposed ? Shape{columns, rows} : Shape{rows, columns}};
}

}  // namespace

void ReferenceBackend::raise_peak(const Tensor& peak, const Tensor& of) {
  if (!peak.present()) return;
  double largest = value_at(peak, 0);
  for (std::int64_t i = 0; i < of.elements(); ++i)
    largest = std::max(largest, std::abs(value_at(of, i)));
  set_value(peak, 0, largest);
}

void ReferenceBackend::run(const Peak& op) {
  raise_peak(op.peak, op.x);
}

void ReferenceBackend::run(const Quantise& op) {
  const double scale = scale_for(value_at(op.peak, 0));
  const std::int64_t rows = op.x.rows();
  const std::int64_t columns = op.x.row_elements();
  set_value(op.scale, 0, scale);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::uint8_t code = nearest_code(value_at(op.x, row * columns + i) / scale);
      if (op.codes.present()) op.codes.as<std::uint8_t>()[row * columns + i] = code;
      if (op.transposed.present()) op.transposed.as<std::uint8_t>()[i * rows + row] = code;
    }
  }
}

void ReferenceBackend::run(const LinearFp8& op) {
  std::vector<double> x;
  std::vector<double> weight;
  Linear as = op.in_rows_type;
  as.x = numbers_of(op.x, false, x);
  as.weight = numbers_of(op.weight, false, weight);
  run(as);
}

void ReferenceBackend::run(const LinearBackwardFp8& op) {
  std::vector<double> d_y;
  std::vector<double> x;
  std::vector<double> weight;
  LinearBackward as = op.in_rows_type;
  as.d_y = numbers_of(op.d_y, false, d_y);
  as.x = numbers_of(op.x_transposed, true, x);
  as.weight = numbers_of(op.weight_transposed, true, weight);
  as.d_bias = {};
  run(as);
  if (!op.in_rows_type.d_bias.present()) return;
  // Of the gradient itself, not of its codes.
  const Tensor& rounded = op.in_rows_type.d_y;
  for (std::int64_t i = 0; i < rounded.elements(); ++i) {
    const std::int64_t column = i % rounded.row_elements();
    const Tensor& d_bias = op.in_rows_type.d_bias;
    set_value(d_bias, column, value_at(d_bias, column) + value_at(rounded, i));
  }
}

}  // namespace athanor
