// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/host_products.h"

#include <algorithm>
#include <cassert>
#include <cmath>
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

/// The same by rows, whichever way it is stored.
std::vector<float> upright(const Tensor& tensor, bool transposed) {
  std::vector<float> floats = floats_of(tensor);
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

void multiply(const Linear& op) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  const std::vector<float> x = floats_of(op.x);
  const std::vector<float> weight = floats_of(op.weight);
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

void multiply_backward(const LinearBackward& op) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  const std::vector<float> d_y = floats_of(op.d_y);
  const std::vector<float> x = floats_of(op.x);
  const std::vector<float> weight = floats_of(op.weight);
  std::vector<float> d_weight(weight.size());
  std::vector<float> d_x(x.size());
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    for (std::int64_t o = 0; o < out; ++o) {
      const float d = d_y[static_cast<std::size_t>(row * out + o)];
      add_scaled(d_weight.data() + o * in, d, x.data() + row * in, in);
      if (op.d_x.present()) add_scaled(d_x.data() + row * in, d, weight.data() + o * in, in);
    }
  }
  add_scaled(d_weight.data(), 1, floats_of(op.d_weight).data(), out * in);
  store(d_weight, op.d_weight);
  if (!op.d_x.present()) return;
  if (op.gelu_pre.present()) multiply_by_gelu_slope(d_x, floats_of(op.gelu_pre));
  store(d_x, op.d_x);
}

void multiply_matrices(const MatrixProduct& op) {
  const std::int64_t rows = op.to.shape[0];
  const std::int64_t columns = op.to.shape[1];
  const std::vector<float> a = upright(op.a, op.a_transposed);
  const std::vector<float> b = upright(op.b, op.b_transposed);
  std::vector<float> sums(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < op.depth(); ++k) {
      add_scaled(sums.data() + row * columns, a[static_cast<std::size_t>(row * op.depth() + k)],
                 b.data() + k * columns, columns);
    }
  }
  for (float& sum : sums)
    sum *= op.factor;
  if (op.addend.present())
    add_scaled(sums.data(), op.kept, floats_of(op.addend).data(), rows * columns);
  store(sums, op.to);
}

}  // namespace

void HostProducts::use_workspace(const Tensor& workspace) {
  ready_ = workspace.present();
}

void HostProducts::tune(bool) {}

void HostProducts::linear(const Linear& op) {
  assert(ready_);
  emulation::give(stream_, [op] { multiply(op); });
}

void HostProducts::linear_backward(const LinearBackward& op) {
  assert(ready_);
  emulation::give(stream_, [op] { multiply_backward(op); });
}

bool HostProducts::has_gelu_slope(const LinearBackward& op) {
  return op.x.row_elements() % 8 == 0;
}

void HostProducts::multiply(const MatrixProduct& op) {
  assert(ready_);
  emulation::give(stream_, [op] { multiply_matrices(op); });
}

}  // namespace athanor::cuda
