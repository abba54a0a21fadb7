// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/host_products.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "engine/backend/cuda/emulation/work.h"
#include "engine/tensor/bf16.h"

namespace athanor::cuda {
namespace {

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> floats(static_cast<std::size_t>(tensor.elements()));
  if (tensor.dtype == DType::bf16) {
    std::ranges::transform(tensor.span<Bf16>(), floats.begin(), [](Bf16 x) { return widened(x); });
  } else {
    std::ranges::copy(tensor.span<float>(), floats.begin());
  }
  return floats;
}

void store(const std::vector<float>& floats, const Tensor& to) {
  if (to.dtype == DType::bf16) {
    std::ranges::transform(floats, to.span<Bf16>().begin(), nearest_bf16);
  } else {
    std::ranges::copy(floats, to.span<float>().begin());
  }
}

Tensor row_of(const Tensor& matrix, std::int64_t row, std::int64_t stride) {
  return {matrix.data + row * stride * size_of(matrix.dtype), matrix.dtype, {matrix.shape[1]}};
}

/// The same by rows, whichever way it is stored.
std::vector<float> upright(const Tensor& tensor, bool transposed, std::int64_t stride) {
  std::vector<float> floats;
  for (std::int64_t row = 0; row < tensor.rows(); ++row) {
    const std::vector<float> one =
        floats_of(row_of(tensor, row, stride > 0 ? stride : tensor.row_elements()));
    floats.insert(floats.end(), one.begin(), one.end());
  }
  if (!transposed) return floats;
  const std::int64_t rows = tensor.shape[1];
  const std::int64_t columns = tensor.shape[0];
  std::vector<float> turned(floats.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      turned[static_cast<std::size_t>(row * columns + column)] =
          floats[static_cast<std::size_t>(column * rows + row)];
  return turned;
}

/// c[row] += factor · b
void add_scaled(float* c, float factor, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    c[i] += factor * b[i];
}

/// Of x/2 · (1 + tanh u) with u = √(2/π) · (x + 0.044715 x³).
void multiply_by_gelu_slope(std::vector<float>& d, const std::vector<float>& at) {
  const float scale = std::sqrt(2 / std::numbers::pi_v<float>);
  for (std::size_t i = 0; i < d.size(); ++i) {
    const float x = at[i];
    const float t = std::tanh(scale * (x + 0.044715F * x * x * x));
    d[i] *= 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * scale * (1 + 3 * 0.044715F * x * x);
  }
}

/// The number of an E4M3 code: sign, four bits of exponent, three of fraction.
float e4m3_value(std::uint8_t code) {
  constexpr int kFraction_bits = 3;
  constexpr int kBias = 7;
  const int exponent = code >> kFraction_bits & 15;
  const int fraction = code & 7;
  float magnitude = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 8),
                               std::max(exponent, 1) - kBias - kFraction_bits);
  if ((code & 0x7F) == 0x7F) magnitude = std::numeric_limits<float>::quiet_NaN();
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

std::vector<float> floats_of(const Fp8& matrix) {
  const float scale = *matrix.scale.as<float>();
  std::vector<float> floats(static_cast<std::size_t>(matrix.codes.elements()));
  std::ranges::transform(matrix.codes.span<std::uint8_t>(), floats.begin(),
                         [&](std::uint8_t code) { return e4m3_value(code) * scale; });
  return floats;
}

std::vector<float> transposed(const Fp8& matrix) {
  const std::vector<float> from = floats_of(matrix);
  const std::int64_t rows = matrix.codes.rows();
  const std::int64_t columns = matrix.codes.row_elements();
  std::vector<float> to(from.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < columns; ++i)
      to[static_cast<std::size_t>(i * rows + row)] =
          from[static_cast<std::size_t>(row * columns + i)];
  return to;
}

void multiply_linear(const Linear& op, const std::vector<float>& x,
                     const std::vector<float>& weight) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  // By columns of the weight, so that the inner loop runs along memory.
  std::vector<float> columns(weight.size());
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t i = 0; i < in; ++i)
      columns[static_cast<std::size_t>(i * out + o)] = weight[static_cast<std::size_t>(o * in + i)];
  std::vector<float> y(static_cast<std::size_t>(op.x.rows() * out));
  const std::vector<float> bias = op.bias.present() ? floats_of(op.bias) : std::vector<float>();
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    float* to = y.data() + row * out;
    for (std::int64_t i = 0; i < in; ++i)
      add_scaled(to, x[static_cast<std::size_t>(row * in + i)], columns.data() + i * out, out);
    if (!bias.empty()) add_scaled(to, 1, bias.data(), out);
  }
  store(y, op.y);
}

void multiply_backward(const LinearBackward& op, const std::vector<float>& d_y,
                       const std::vector<float>& x, const std::vector<float>& weight) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  std::vector<float> d_weight(weight.size());
  std::vector<float> d_x(x.size());
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    for (std::int64_t o = 0; o < out; ++o) {
      const float d = d_y[static_cast<std::size_t>(row * out + o)];
      add_scaled(d_weight.data() + o * in, d, x.data() + row * in, in);
      if (op.d_x.present()) add_scaled(d_x.data() + row * in, d, weight.data() + o * in, in);
    }
  }
  if (op.d_weight.present()) {
    add_scaled(d_weight.data(), 1, floats_of(op.d_weight).data(), out * in);
    store(d_weight, op.d_weight);
  }
  if (!op.d_x.present()) return;
  if (op.gelu_pre.present()) multiply_by_gelu_slope(d_x, floats_of(op.gelu_pre));
  store(d_x, op.d_x);
}

void multiply_matrices(const MatrixProduct& op) {
  const std::int64_t rows = op.to.shape[0];
  const std::int64_t columns = op.to.shape[1];
  const std::vector<float> a = upright(op.a, op.a_transposed, op.a_stride);
  const std::vector<float> b = upright(op.b, op.b_transposed, 0);
  std::vector<float> sums(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < op.depth(); ++k) {
      add_scaled(sums.data() + row * columns, a[static_cast<std::size_t>(row * op.depth() + k)],
                 b.data() + k * columns, columns);
    }
  }
  for (float& sum : sums)
    sum *= op.factor;
  const std::int64_t stride = op.to_stride > 0 ? op.to_stride : columns;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = sums.begin() + row * columns;
    std::vector<float> one(first, first + columns);
    if (op.addend.present())
      add_scaled(one.data(), op.kept, floats_of(row_of(op.addend, row, stride)).data(), columns);
    store(one, row_of(op.to, row, stride));
  }
}

}  // namespace

void HostProducts::use_workspace(const Tensor& workspace) {
  ready_ = workspace.present();
}

void HostProducts::tune(bool) {}

void HostProducts::linear(const Linear& op) {
  assert(ready_);
  emulation::give(stream_, [op] { multiply_linear(op, floats_of(op.x), floats_of(op.weight)); });
}

void HostProducts::linear_backward(const LinearBackward& op) {
  assert(ready_);
  emulation::give(stream_, [op] {
    multiply_backward(op, floats_of(op.d_y), floats_of(op.x), floats_of(op.weight));
  });
}

bool HostProducts::has_gelu_slope(const LinearBackward& op) {
  return op.x.row_elements() % 8 == 0;
}

void HostProducts::multiply(const MatrixProduct& op) {
  assert(ready_);
  emulation::give(stream_, [op] { multiply_matrices(op); });
}

bool HostProducts::has_fp8(std::int64_t rows, std::int64_t in, std::int64_t out) {
  if (in_fp8_extents(rows, in, out)) return true;
  if (!std::exchange(noticed_, true)) notice_ = no_fp8_notice(rows, in, out, kNot_fp8_extents);
  return false;
}

void HostProducts::linear(const LinearFp8& op) {
  const Linear& as = op.in_rows_type;
  if (!has_fp8(as.x.rows(), as.x.row_elements(), as.weight.rows())) return linear(as);
  assert(ready_);
  emulation::give(
      stream_, [op] { multiply_linear(op.in_rows_type, floats_of(op.x), floats_of(op.weight)); });
}

void HostProducts::linear_backward(const LinearBackwardFp8& op) {
  const LinearBackward& as = op.in_rows_type;
  if (!has_fp8(as.x.rows(), as.x.row_elements(), as.weight.rows())) return linear_backward(as);
  assert(ready_);
  // One of each matrix is enough here: a card's other one holds the same codes.
  emulation::give(stream_, [op] {
    multiply_backward(op.in_rows_type, floats_of(op.d_y), transposed(op.x_transposed),
                      transposed(op.weight_transposed));
  });
}

}  // namespace athanor::cuda
