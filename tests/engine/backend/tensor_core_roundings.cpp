// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/tensor_core_roundings.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/cuda/kernels.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

double dot(const double* a, const double* b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// to[i] += (factor · from[i])²
void add_squares(double* to, double factor, const double* from, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i)
    to[i] += factor * from[i] * (factor * from[i]);
}

/// One head of one row, and the keys it sees: `first` … `last`, rows of key_stride numbers.
struct Row {
  const double* query;
  const double* keys;  ///< of row 0
  const double* values;
  std::int64_t key_stride;
  std::int64_t head_dim;
  std::int64_t first;
  std::int64_t last;

  double scale() const { return 1 / std::sqrt(static_cast<double>(head_dim)); }
  double score(std::int64_t seen) const {
    return scale() * dot(query, keys + seen * key_stride, head_dim);
  }
  double lse() const {
    double largest = score(first);
    for (std::int64_t seen = first; seen <= last; ++seen)
      largest = std::max(largest, score(seen));
    double sum = 0;
    for (std::int64_t seen = first; seen <= last; ++seen)
      sum += std::exp(score(seen) - largest);
    return largest + std::log(sum);
  }
};

Row row_of(const AttentionShape& shape, const Tensor& qkv, const Tensor& document_starts,
           std::int64_t row, std::int64_t head) {
  const double* numbers = qkv.as<double>();
  const std::int64_t key_column =
      shape.query_width() + head * shape.kv_heads / shape.heads * shape.head_dim;
  return {.query = numbers + row * shape.qkv_width() + head * shape.head_dim,
          .keys = numbers + key_column,
          .values = numbers + key_column + shape.key_width(),
          .key_stride = shape.qkv_width(),
          .head_dim = shape.head_dim,
          .first = row / shape.sequence * shape.sequence + document_starts.as<std::int32_t>()[row],
          .last = row};
}

/// Σt² of a head's outputs.
void add_output_terms(double* to, const Row& row) {
  const double lse = row.lse();
  for (std::int64_t seen = row.first; seen <= row.last; ++seen) {
    add_squares(to, std::exp(row.score(seen) - lse), row.values + seen * row.key_stride,
                row.head_dim);
  }
}

/// Σt² of what one head of one row gives to the gradients in `to`, as in d_qkv.
void add_gradient_terms(double* to, const AttentionBackward& op, std::int64_t index,
                        std::int64_t head) {
  const Row row = row_of(op.shape, op.qkv, op.document_starts, index, head);
  const std::int64_t place = index * op.shape.query_width() + head * row.head_dim;
  const double* d_out = op.d_out.as<double>() + place;
  const double mean = dot(op.out.as<double>() + place, d_out, row.head_dim);
  const double lse = op.lse.as<double>()[index * op.shape.heads + head];
  const double* numbers = op.qkv.as<double>();
  for (std::int64_t seen = row.first; seen <= row.last; ++seen) {
    const double* key = row.keys + seen * row.key_stride;
    const double* value = row.values + seen * row.key_stride;
    const double weight = std::exp(row.score(seen) - lse);
    const double d_score = weight * (dot(d_out, value, row.head_dim) - mean) * row.scale();
    add_squares(to + (row.query - numbers), d_score, key, row.head_dim);
    add_squares(to + (key - numbers), d_score, row.query, row.head_dim);
    add_squares(to + (value - numbers), weight, d_out, row.head_dim);
  }
}

std::vector<double> sums_for(const Tensor& tensor) {
  return std::vector<double>(static_cast<std::size_t>(tensor.elements()));
}

std::vector<double> squared_terms(const Attention& op) {
  std::vector<double> sums = sums_for(op.out);
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    for (std::int64_t head = 0; head < op.shape.heads; ++head) {
      add_output_terms(
          &sums[static_cast<std::size_t>(row * op.shape.query_width() + head * op.shape.head_dim)],
          row_of(op.shape, op.qkv, op.document_starts, row, head));
    }
  }
  return sums;
}

std::vector<double> squared_terms(const AttentionBackward& op) {
  std::vector<double> sums = sums_for(op.d_qkv);
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    for (std::int64_t head = 0; head < op.shape.heads; ++head)
      add_gradient_terms(sums.data(), op, row, head);
  }
  return sums;
}

std::vector<double> squared_terms(const DecodeAttention& op) {
  const AttentionShape& shape = op.shape;
  std::vector<double> sums = sums_for(op.out);
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t column = head * shape.kv_heads / shape.heads * shape.head_dim;
      const Row seen{.query = op.qkv.as<double>() + row * shape.qkv_width() + head * shape.head_dim,
                     .keys = op.key_cache.as<double>() + column,
                     .values = op.value_cache.as<double>() + column,
                     .key_stride = shape.key_width(),
                     .head_dim = shape.head_dim,
                     .first = 0,
                     .last = op.first_position + row};
      add_output_terms(
          &sums[static_cast<std::size_t>(row * shape.query_width() + head * shape.head_dim)], seen);
    }
  }
  return sums;
}

std::vector<double> squared_terms(const QuantisedLinearBackward& op) {
  std::vector<double> sums = sums_for(op.d_x);
  const std::int64_t in = op.weight.row_elements();
  const std::int64_t out = op.weight.rows();
  for (std::int64_t i = 0; i < op.d_x.elements(); ++i) {
    for (std::int64_t column = 0; column < out; ++column) {
      const double term = op.d_y.as<double>()[i / in * out + column] *
                          ReferenceBackend::element_of(op.weight, column, i % in);
      sums[static_cast<std::size_t>(i)] += term * term;
    }
  }
  return sums;
}

std::vector<double> squared_terms(const QuantisedLinear& op) {
  std::vector<double> sums = sums_for(op.y);
  if (op.x.rows() <= cuda::kFewQuantisedRows) return {};
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  for (std::int64_t row = 0; row < op.x.rows(); ++row) {
    for (std::int64_t column = 0; column < out; ++column) {
      for (std::int64_t i = 0; i < in; ++i) {
        const double term =
            op.x.as<double>()[row * in + i] * ReferenceBackend::element_of(op.weight, column, i);
        sums[static_cast<std::size_t>(row * out + column)] += term * term;
      }
    }
  }
  return sums;
}

}  // namespace

std::vector<double> tensor_core_roundings(const AnyOperation& expected, std::string_view output) {
  std::vector<double> errors;
  if (const auto* op = std::get_if<Attention>(&expected);
      op != nullptr && (output == "out" || output == "peak")) {
    errors = squared_terms(*op);
    // Two largest magnitudes lie no further apart than any two elements.
    if (output == "peak") errors = {*std::ranges::max_element(errors)};
  }
  if (const auto* op = std::get_if<AttentionBackward>(&expected);
      op != nullptr && output == "d_qkv")
    errors = squared_terms(*op);
  if (const auto* op = std::get_if<DecodeAttention>(&expected); op != nullptr && output == "out")
    errors = squared_terms(*op);
  if (const auto* op = std::get_if<QuantisedLinear>(&expected); op != nullptr && output == "y")
    errors = squared_terms(*op);
  if (const auto* op = std::get_if<QuantisedLinearBackward>(&expected); op != nullptr)
    errors = squared_terms(*op);
  for (double& error : errors)
    error = 4 * 0x1p-8 * std::sqrt(error);
  return errors;
}

}  // namespace athanor
