// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/host_products.h"

#include <algorithm>
#include <cassert>
#include <vector>

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

/// c[row] += factor · b
void add_scaled(float* c, float factor, const float* b, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    c[i] += factor * b[i];
}

}  // namespace

void HostProducts::use_workspace(const Tensor& workspace) {
  ready_ = workspace.present();
}

void HostProducts::tune(bool) {}

void HostProducts::linear(const Linear& op) {
  assert(ready_);
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

void HostProducts::linear_backward(const LinearBackward& op) {
  assert(ready_);
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
  if (op.d_x.present()) store(d_x, op.d_x);
}

void HostProducts::multiply(const MatrixProduct& product) {
  assert(ready_);
  const std::int64_t rows = product.c.rows();
  const std::int64_t columns = product.c.row_elements();
  const std::int64_t depth = product.depth();
  const std::vector<float> a = floats_of(product.a);
  const std::vector<float> b = floats_of(product.b);
  std::vector<float> c(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t left = product.a_transposed ? k * rows + row : row * depth + k;
        const std::int64_t right = product.b_transposed ? column * depth + k : k * columns + column;
        sum += a[static_cast<std::size_t>(left)] * b[static_cast<std::size_t>(right)];
      }
      c[static_cast<std::size_t>(row * columns + column)] = product.factor * sum;
    }
  }
  if (product.accumulate) add_scaled(c.data(), 1, floats_of(product.c).data(), rows * columns);
  store(c, product.c);
}

}  // namespace athanor::cuda
