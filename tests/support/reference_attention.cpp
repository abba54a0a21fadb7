// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <vector>

#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

double dot(const double* a, const double* b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t i = 0; i < size; ++i)
    sum += a[i] * b[i];
  return sum;
}

void add_scaled(double* to, double factor, const double* from, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i)
    to[i] += factor * from[i];
}

/// Turns scores into probabilities in place and returns the log of the sum of exponentials.
double softmax(std::vector<double>& scores) {
  double largest = scores.front();
  for (const double score : scores)
    largest = std::max(largest, score);
  double sum = 0;
  for (const double score : scores)
    sum += std::exp(score - largest);
  const double lse = largest + std::log(sum);
  for (double& score : scores)
    score = std::exp(score - lse);
  return lse;
}

/// Where a head's queries, keys and values lie in rows of qkv.
struct Heads {
  AttentionShape shape;
  const double* qkv;

  std::int64_t key_head(std::int64_t head) const { return head * shape.kv_heads / shape.heads; }
  std::int64_t query_at(std::int64_t row, std::int64_t head) const {
    return row * shape.qkv_width() + head * shape.head_dim;
  }
  std::int64_t key_at(std::int64_t row, std::int64_t head) const {
    return row * shape.qkv_width() + shape.query_width() + key_head(head) * shape.head_dim;
  }
  std::int64_t value_at(std::int64_t row, std::int64_t head) const {
    return key_at(row, head) + shape.key_width();
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(shape.head_dim)); }

  /// Scaled scores of query `row` with the keys of rows first … row.
  std::vector<double> scores(std::int64_t row, std::int64_t first, std::int64_t head) const {
    std::vector<double> scores;
    for (std::int64_t seen = first; seen <= row; ++seen) {
      scores.push_back(scale() *
                       dot(qkv + query_at(row, head), qkv + key_at(seen, head), shape.head_dim));
    }
    return scores;
  }
};

/// The first row of qkv that `row` sees.
std::int64_t first_seen(const AttentionShape& shape, const Tensor& document_starts,
                        std::int64_t row) {
  return row / shape.sequence * shape.sequence + document_starts.as<std::int32_t>()[row];
}

/// Adds what one query's gradient gives to those of its query, keys and values.
void backward_of_query(const Heads& heads, const AttentionBackward& op, std::int64_t row,
                       std::int64_t first, std::int64_t head) {
  const std::int64_t size = heads.shape.head_dim;
  const std::int64_t place = row * op.shape.query_width() + head * size;
  const double* d_out = op.d_out.as<double>() + place;
  double* d_qkv = op.d_qkv.as<double>();
  // From the sums and the outputs that were kept, which may have been rounded since.
  const double lse = op.lse.as<double>()[row * op.shape.heads + head];
  const double mean = dot(op.out.as<double>() + place, d_out, size);
  std::vector<double> probabilities = heads.scores(row, first, head);
  for (double& probability : probabilities)
    probability = std::exp(probability - lse);
  std::vector<double> d_probabilities;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const std::int64_t seen = first + static_cast<std::int64_t>(i);
    d_probabilities.push_back(dot(d_out, heads.qkv + heads.value_at(seen, head), size));
  }
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const std::int64_t seen = first + static_cast<std::int64_t>(i);
    const double d_score = probabilities[i] * (d_probabilities[i] - mean) * heads.scale();
    add_scaled(d_qkv + heads.value_at(seen, head), probabilities[i], d_out, size);
    add_scaled(d_qkv + heads.query_at(row, head), d_score, heads.qkv + heads.key_at(seen, head),
               size);
    add_scaled(d_qkv + heads.key_at(seen, head), d_score, heads.qkv + heads.query_at(row, head),
               size);
  }
}

}  // namespace

void ReferenceBackend::run(const Attention& op) {
  const Heads heads{op.shape, op.qkv.as<double>()};
  zero(op.out);
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    const std::int64_t first = first_seen(op.shape, op.document_starts, row);
    for (std::int64_t head = 0; head < op.shape.heads; ++head) {
      std::vector<double> probabilities = heads.scores(row, first, head);
      op.lse.as<double>()[row * op.shape.heads + head] = softmax(probabilities);
      double* out = op.out.as<double>() + row * op.shape.query_width() + head * op.shape.head_dim;
      for (std::size_t i = 0; i < probabilities.size(); ++i) {
        const std::int64_t seen = first + static_cast<std::int64_t>(i);
        add_scaled(out, probabilities[i], heads.qkv + heads.value_at(seen, head),
                   op.shape.head_dim);
      }
    }
  }
  raise_peak(op.peak, op.out);
}

void ReferenceBackend::run(const AttentionBackward& op) {
  const Heads heads{op.shape, op.qkv.as<double>()};
  zero(op.d_qkv);
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    const std::int64_t first = first_seen(op.shape, op.document_starts, row);
    for (std::int64_t head = 0; head < op.shape.heads; ++head)
      backward_of_query(heads, op, row, first, head);
  }
}

void ReferenceBackend::run(const DecodeAttention& op) {
  const Heads heads{op.shape, op.qkv.as<double>()};
  const std::int64_t size = op.shape.head_dim;
  const std::int64_t width = op.shape.key_width();
  double* keys = op.key_cache.as<double>();
  double* values = op.value_cache.as<double>();
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    const double* from = heads.qkv + row * op.shape.qkv_width() + op.shape.query_width();
    const std::int64_t position = op.first_position + row;
    for (std::int64_t i = 0; i < width; ++i) {
      keys[position * width + i] = from[i];
      values[position * width + i] = from[width + i];
    }
  }
  zero(op.out);
  for (std::int64_t row = 0; row < op.qkv.rows(); ++row) {
    for (std::int64_t head = 0; head < op.shape.heads; ++head) {
      const std::int64_t column = heads.key_head(head) * size;
      std::vector<double> probabilities;
      for (std::int64_t seen = 0; seen <= op.first_position + row; ++seen) {
        probabilities.push_back(heads.scale() * dot(heads.qkv + heads.query_at(row, head),
                                                    keys + seen * width + column, size));
      }
      softmax(probabilities);
      double* out = op.out.as<double>() + row * op.shape.query_width() + head * size;
      for (std::size_t i = 0; i < probabilities.size(); ++i) {
        const std::int64_t seen = static_cast<std::int64_t>(i);
        add_scaled(out, probabilities[i], values + seen * width + column, size);
      }
    }
  }
}

}  // namespace athanor
