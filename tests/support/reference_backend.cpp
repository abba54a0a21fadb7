// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/reference_backend.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "engine/backend/numbers_in_memory.h"
#include "engine/base/philox.h"
#include "tests/support/in_arena.h"

namespace athanor {
namespace {

double mean_of_squares(const double* x, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i)
    sum += x[i] * x[i];
  return sum / static_cast<double>(size);
}

/// Gradient of x·rstd(x)·weight: returned for x, added for the weight.
double* reals_or_null(const Tensor& tensor) {
  return tensor.present() ? tensor.as<double>() : nullptr;
}

std::vector<double> norm_backward(const double* d_out, const double* x, const double* weight,
                                  double rstd, std::int64_t size, double* d_weight) {
  double projection = 0;
  for (std::int64_t i = 0; i < size; ++i)
    projection += d_out[i] * weight[i] * x[i];
  projection *= rstd * rstd / static_cast<double>(size);
  std::vector<double> d_x;
  for (std::int64_t i = 0; i < size; ++i) {
    d_x.push_back(rstd * (d_out[i] * weight[i] - x[i] * projection));
    if (d_weight != nullptr) d_weight[i] += d_out[i] * x[i] * rstd;
  }
  return d_x;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double silu(double x) {
  return x * sigmoid(x);
}
double silu_slope(double x) {
  return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
}

constexpr double kGelu_cubic = 0.044715;
double gelu_inner(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + kGelu_cubic * x * x * x);
}
double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(gelu_inner(x)));
}
double gelu_slope(double x) {
  const double inner_slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * kGelu_cubic * x * x);
  const double t = std::tanh(gelu_inner(x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope;
}

double single(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return gelu(x);
    case Activation::relu2:
      return x > 0 ? x * x : 0;
    default:
      return silu(x);
  }
}

double single_slope(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return gelu_slope(x);
    case Activation::relu2:
      return x > 0 ? 2 * x : 0;
    default:
      return silu_slope(x);
  }
}

}  // namespace

double ReferenceBackend::dropout_factor(const Dropout& dropout, std::int64_t element) {
  if (dropout.rate == 0) return 1;
  const double word =
      Philox(dropout.seed, stream_of(dropout)).word(static_cast<std::uint64_t>(element));
  const double rate = dropout.rate;
  return word >= rate * 0x1p32 ? 1 / (1 - rate) : 0;
}

void ReferenceBackend::zero(const Tensor& tensor) {
  std::memset(tensor.data, 0, static_cast<std::size_t>(tensor.bytes()));
}

void ReferenceBackend::upload(const Tensor& to, std::span<const std::byte> from) {
  std::memcpy(to.data, from.data(), from.size());
}

void ReferenceBackend::download(std::span<std::byte> to, const Tensor& from) {
  std::memcpy(to.data(), from.data, to.size());
}

void ReferenceBackend::run(const Embedding& op) {
  const std::int64_t width = op.table.row_elements();
  for (std::int64_t row = 0; row < op.out.rows(); ++row) {
    const double* from = op.table.as<double>() + op.tokens.as<std::int32_t>()[row] * width;
    std::copy_n(from, width, op.out.as<double>() + row * width);
  }
}

void ReferenceBackend::run(const EmbeddingBackward& op) {
  const std::int64_t width = op.d_table.row_elements();
  for (std::int64_t row = 0; row < op.d_out.rows(); ++row) {
    const std::int64_t token = op.tokens.as<std::int32_t>()[row];
    for (std::int64_t i = 0; i < width; ++i) {
      op.d_table.as<double>()[token * width + i] += op.d_out.as<double>()[row * width + i];
    }
  }
}

void ReferenceBackend::run(const AddNorm& op) {
  const std::int64_t width = op.input.row_elements();
  const double* weight = op.weight.as<double>();
  for (std::int64_t row = 0; row < op.input.rows(); ++row) {
    const double* sum = op.input.as<double>() + row * width;
    if (op.branch.present()) {
      double* written = op.sum.as<double>() + row * width;
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t element = row * width + i;
        written[i] = sum[i] + dropout_factor(op.dropout, element) * op.branch.as<double>()[element];
      }
      sum = written;
    }
    const double rstd = 1 / std::sqrt(mean_of_squares(sum, width) + op.epsilon);
    op.rstd.as<double>()[row] = rstd;
    double* out = op.out.as<double>() + row * width;
    for (std::int64_t i = 0; i < width; ++i)
      out[i] = sum[i] * rstd * weight[i];
  }
  raise_peak(op.peak, op.out);
}

void ReferenceBackend::run(const NormAgain& op) {
  const std::int64_t width = op.x.row_elements();
  for (std::int64_t i = 0; i < op.x.elements(); ++i) {
    op.out.as<double>()[i] =
        op.x.as<double>()[i] * op.rstd.as<double>()[i / width] * op.weight.as<double>()[i % width];
  }
}

void ReferenceBackend::run(const AddNormBackward& op) {
  const std::int64_t width = op.sum.row_elements();
  for (std::int64_t row = 0; row < op.sum.rows(); ++row) {
    const std::vector<double> through_norm = norm_backward(
        op.d_out.as<double>() + row * width, op.sum.as<double>() + row * width,
        op.weight.as<double>(), op.rstd.as<double>()[row], width, reals_or_null(op.d_weight));
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t element = row * width + i;
      double d_sum = through_norm[static_cast<std::size_t>(i)];
      if (op.d_residual.present()) d_sum += op.d_residual.as<double>()[element];
      op.d_sum.as<double>()[element] = d_sum;
      if (op.d_branch.present()) {
        op.d_branch.as<double>()[element] = d_sum * dropout_factor(op.dropout, element);
      }
    }
  }
  raise_peak(op.peak, op.d_branch.present() ? op.d_branch : op.d_sum);
}

void ReferenceBackend::run(const Linear& op) {
  const std::int64_t in = op.weight.row_elements();
  const std::int64_t out = op.weight.rows();
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    const double* x = op.x.as<double>() + row * in;
    for (std::int64_t o = 0; o < out; ++o) {
      const double* weight = op.weight.as<double>() + o * in;
      double sum = op.bias.present() ? op.bias.as<double>()[o] : 0;
      for (std::int64_t i = 0; i < in; ++i)
        sum += x[i] * weight[i];
      op.y.as<double>()[row * out + o] = sum;
    }
  }
}

void ReferenceBackend::run(const LinearBackward& op) {
  const std::int64_t in = op.weight.row_elements();
  const std::int64_t out = op.weight.rows();
  if (op.d_x.present()) zero(op.d_x);
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    const double* x = op.x.as<double>() + row * in;
    for (std::int64_t o = 0; o < out; ++o) {
      const double d_y = op.d_y.as<double>()[row * out + o];
      const double* weight = op.weight.as<double>() + o * in;
      if (op.d_weight.present()) {
        double* d_weight = op.d_weight.as<double>() + o * in;
        for (std::int64_t i = 0; i < in; ++i)
          d_weight[i] += d_y * x[i];
      }
      if (op.d_bias.present()) op.d_bias.as<double>()[o] += d_y;
      if (!op.d_x.present()) continue;
      double* d_x = op.d_x.as<double>() + row * in;
      for (std::int64_t i = 0; i < in; ++i)
        d_x[i] += d_y * weight[i];
    }
  }
  if (!op.gelu_pre.present()) return;
  for (std::int64_t i = 0; i < op.gelu_pre.elements(); ++i)
    op.d_x.as<double>()[i] *= gelu_slope(op.gelu_pre.as<double>()[i]);
}

void ReferenceBackend::run(const QkNorm& op) {
  const std::int64_t size = op.shape.head_dim;
  const std::int64_t normed = op.shape.heads + op.shape.kv_heads;
  std::copy_n(op.qkv.as<double>(), op.qkv.elements(), op.out.as<double>());
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    for (std::int64_t head = 0; head < normed; ++head) {
      const Tensor& weight = head < op.shape.heads ? op.q_weight : op.k_weight;
      double* x = op.out.as<double>() + row * op.shape.qkv_width() + head * size;
      const double rstd = 1 / std::sqrt(mean_of_squares(x, size) + op.epsilon);
      op.rstd.as<double>()[row * normed + head] = rstd;
      for (std::int64_t i = 0; i < size; ++i)
        x[i] *= rstd * weight.as<double>()[i];
    }
  }
}

void ReferenceBackend::run(const QkNormBackward& op) {
  const std::int64_t size = op.shape.head_dim;
  const std::int64_t normed = op.shape.heads + op.shape.kv_heads;
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    for (std::int64_t head = 0; head < normed; ++head) {
      const bool query = head < op.shape.heads;
      const std::int64_t start = row * op.shape.qkv_width() + head * size;
      double* d_x = op.d_qkv.as<double>() + start;
      const std::vector<double> before = norm_backward(
          d_x, op.qkv.as<double>() + start, (query ? op.q_weight : op.k_weight).as<double>(),
          op.rstd.as<double>()[row * normed + head], size,
          reals_or_null(query ? op.d_q_weight : op.d_k_weight));
      std::copy(before.begin(), before.end(), d_x);
    }
  }
}

void ReferenceBackend::run(const Rope& op) {
  const std::int64_t half = op.shape.head_dim / 2;
  const double direction = op.inverse ? -1 : 1;
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    const std::int64_t position = op.first_position + row % op.shape.sequence;
    const double* turn = op.table.as<double>() + position * op.shape.head_dim;
    for (std::int64_t head = 0; head < op.shape.heads + op.shape.kv_heads; ++head) {
      double* x = op.qkv.as<double>() + row * op.shape.qkv_width() + head * op.shape.head_dim;
      for (std::int64_t i = 0; i < half; ++i) {
        const double cosine = turn[i];
        const double sine = direction * turn[half + i];
        const double first = x[i];
        const double second = x[half + i];
        x[i] = first * cosine - second * sine;
        x[half + i] = first * sine + second * cosine;
      }
    }
  }
}

void ReferenceBackend::run(const MlpActivation& op) {
  const bool gated = op.activation == Activation::swiglu;
  const std::int64_t width = op.out.row_elements();
  for (std::int64_t row = 0; row < op.out.rows(); ++row) {
    const double* pre = op.pre.as<double>() + row * op.pre.row_elements();
    double* out = op.out.as<double>() + row * width;
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = single(op.activation, pre[i]) * (gated ? pre[width + i] : 1);
    }
  }
  raise_peak(op.peak, op.out);
}

void ReferenceBackend::run(const MlpActivationBackward& op) {
  const bool gated = op.activation == Activation::swiglu;
  const std::int64_t width = op.d_out.row_elements();
  for (std::int64_t row = 0; row < op.d_out.rows(); ++row) {
    const double* pre = op.pre.as<double>() + row * op.pre.row_elements();
    const double* d_out = op.d_out.as<double>() + row * width;
    double* d_pre = op.d_pre.as<double>() + row * op.pre.row_elements();
    for (std::int64_t i = 0; i < width; ++i) {
      const double x = pre[i];
      const double factor = gated ? pre[width + i] : 1;
      d_pre[i] = d_out[i] * single_slope(op.activation, x) * factor;
      if (gated) d_pre[width + i] = d_out[i] * silu(x);
    }
  }
  raise_peak(op.peak, op.d_pre);
}

void ReferenceBackend::run(const HeadLoss& op) {
  const std::int64_t vocabulary = op.weight.rows();
  std::vector<double> logits(static_cast<std::size_t>(op.x.rows() * vocabulary));
  const Tensor tensor{
      reinterpret_cast<std::byte*>(logits.data()), DType::f64, {op.x.rows(), vocabulary}};
  run(Linear{.x = op.x, .weight = op.weight, .bias = {}, .y = tensor});
  run_from_logits(op, tensor);
}

void ReferenceBackend::run_from_logits(const HeadLoss& op, const Tensor& logits) {
  const std::int64_t width = op.weight.row_elements();
  const std::int64_t vocabulary = op.weight.rows();
  if (op.d_x.present()) zero(op.d_x);
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    const std::int64_t target = op.targets.as<std::int32_t>()[row];
    op.losses.as<double>()[row] = 0;
    if (target < 0) continue;
    const double* logit = logits.as<double>() + row * vocabulary;
    const double largest = *std::max_element(logit, logit + vocabulary);
    double sum = 0;
    for (std::int64_t v = 0; v < vocabulary; ++v)
      sum += std::exp(logit[v] - largest);
    const double lse = largest + std::log(sum);
    op.losses.as<double>()[row] = lse - logit[target];
    if (!op.d_x.present()) continue;
    const double* x = op.x.as<double>() + row * width;
    const double own = op.row_factors.present() ? op.row_factors.as<double>()[row] : 1;
    const double scale = own * gradient_scale_of(op);
    for (std::int64_t v = 0; v < vocabulary; ++v) {
      const double d_logit = scale * (std::exp(logit[v] - lse) - (v == target ? 1 : 0));
      for (std::int64_t i = 0; i < width; ++i) {
        op.d_x.as<double>()[row * width + i] += d_logit * op.weight.as<double>()[v * width + i];
        if (op.d_weight.present()) op.d_weight.as<double>()[v * width + i] += d_logit * x[i];
      }
    }
  }
}

double ReferenceBackend::stored_number(const StoredWeights& to, std::int64_t index) {
  if (to.master.present()) return to.master.as<double>()[index];
  if (to.low_bits.present()) return joined_value(to.weights, to.low_bits, index);
  return to.weights.as<double>()[index];
}

void ReferenceBackend::store_number(const StoredWeights& to, std::int64_t index, double number) {
  to.weights.as<double>()[index] = number;
  if (to.master.present()) to.master.as<double>()[index] = number;
  if (to.low_bits.present()) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
    to.low_bits.as<std::uint16_t>()[index] = static_cast<std::uint16_t>(bits);
  }
}

void ReferenceBackend::run(const AdamW& op) {
  const double beta1 = op.at.beta1;
  const double beta2 = op.at.beta2;
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(op.at.step));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(op.at.step));
  const double rate = op.at.learning_rate;
  for (std::int64_t i = 0; i < op.to.weights.elements(); ++i) {
    const double gradient = op.gradients.as<double>()[i] * op.at.gradient_scale;
    double weight = stored_number(op.to, i);
    double& m = op.m.as<double>()[i];
    double& v = op.v.as<double>()[i];
    m = beta1 * m + (1 - beta1) * gradient;
    v = beta2 * v + (1 - beta2) * gradient * gradient;
    weight -= rate * op.at.decay * weight;
    weight -= rate * (m / correction1) / (std::sqrt(v / correction2) + op.at.epsilon);
    store_number(op.to, i, weight);
  }
}

void ReferenceBackend::run(const FromHost& op) {
  upload(op.to, op.host.byte_span());
}

void ReferenceBackend::run(const ToHost& op) {
  upload(op.host, op.from.byte_span());
}

double ReferenceBackend::sum_of_squares(const Tensor& x) {
  double sum = 0;
  for (const double value : x.span<double>())
    sum += value * value;
  return sum;
}

}  // namespace athanor
