// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/parameters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/philox.h"

namespace athanor {

namespace {
constexpr double kDeviation = 0.02;
// 64 bytes of FP32, the least that keeps every parameter on its own cache line.
constexpr std::int64_t kAlignment_elements = 16;
}  // namespace

ParameterTable::ParameterTable(const ModelConfig& config) {
  using Start = Parameter::Start;
  embedding_ = add("embedding", {config.vocabulary, config.width}, true, Start::normal, kDeviation);
  for (std::int64_t index = 0; index < config.layers; ++index)
    add_layer(config, index);
  final_norm_ = add("final_norm", {config.width}, false, Start::ones, 0);
  head_ = config.tied
              ? embedding_
              : add("head", {config.vocabulary, config.width}, true, Start::normal, kDeviation);
}

void ParameterTable::add_layer(const ModelConfig& config, std::int64_t index) {
  using Start = Parameter::Start;
  const AttentionShape attention = config.attention_shape(1);
  const std::int64_t d = config.width;
  // Residual branches start smaller the deeper the model, as GPT-2's do (Radford et al., 2019).
  const double branch_deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(config.layers));
  const std::string prefix = "layers." + std::to_string(index) + ".";

  LayerParameters layer;
  layer.attention_norm = add(prefix + "attention_norm", {d}, false, Start::ones, 0);
  layer.qkv = add_matrices(prefix + "qkv",
                           {attention.query_width(), attention.key_width(), attention.key_width()},
                           d, Start::normal, kDeviation);
  if (config.qkv_biases) {
    layer.qkv_bias = add(prefix + "qkv_bias", {attention.qkv_width()}, false, Start::zeros, 0);
  }
  if (config.qk_norm) {
    layer.q_norm = add(prefix + "q_norm", {config.head_dim()}, false, Start::ones, 0);
    layer.k_norm = add(prefix + "k_norm", {config.head_dim()}, false, Start::ones, 0);
  }
  layer.attention_out = add_matrices(prefix + "attention_out", {d}, attention.query_width(),
                                     Start::normal, branch_deviation);
  layer.mlp_norm = add(prefix + "mlp_norm", {d}, false, Start::ones, 0);
  std::vector<std::int64_t> up_rows = {config.ffn};
  if (config.gated()) up_rows.push_back(config.ffn);
  layer.up = add_matrices(prefix + "up", up_rows, d, Start::normal, kDeviation);
  if (config.biases)
    layer.up_bias = add(prefix + "up_bias", {config.pre_width()}, false, Start::zeros, 0);
  layer.down = add_matrices(prefix + "down", {d}, config.ffn, Start::normal, branch_deviation);
  if (config.biases) layer.down_bias = add(prefix + "down_bias", {d}, false, Start::zeros, 0);
  layers_.push_back(layer);
}

int ParameterList::add(std::string name, Shape shape, bool decay, Parameter::Start start,
                       double deviation) {
  parameters_.push_back({std::move(name), shape, decay, start, deviation, flat_elements_});
  count_ += shape.elements();
  flat_elements_ +=
      (shape.elements() + kAlignment_elements - 1) / kAlignment_elements * kAlignment_elements;
  return static_cast<int>(parameters_.size()) - 1;
}

int ParameterList::add_matrices(std::string name, std::vector<std::int64_t> rows,
                                std::int64_t columns, Parameter::Start start, double deviation) {
  const std::int64_t all_rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  const int index = add(std::move(name), {all_rows, columns}, true, start, deviation);
  parameters_.back().matrix_rows = std::move(rows);
  return index;
}

ParameterRange ParameterList::range_of(int index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::int64_t end =
      at + 1 < parameters_.size() ? parameters_[at + 1].offset : flat_elements_;
  return {parameters_[at].offset, end - parameters_[at].offset};
}

ParameterRange ParameterTable::range_of_layer(std::int64_t index) const {
  const LayerParameters& ids = layer(index);
  const ParameterRange last = range_of(std::max(ids.down, ids.down_bias));
  const std::int64_t offset = range_of(ids.attention_norm).offset;
  return {offset, last.offset + last.elements - offset};
}

Tensor ParameterList::view(const Tensor& flat, int index, std::int64_t first) const {
  if (index < 0) return {};
  const Parameter& of = parameters_[static_cast<std::size_t>(index)];
  return flat.slice_rows(of.offset - first, of.shape.elements()).reshaped(of.shape);
}

int LayerParameters::weight(BlockProduct product) const {
  switch (product) {
    case BlockProduct::qkv:
      return qkv;
    case BlockProduct::attention_out:
      return attention_out;
    case BlockProduct::up:
      return up;
    case BlockProduct::down:
      break;
  }
  return down;
}

int LayerParameters::bias(BlockProduct product) const {
  switch (product) {
    case BlockProduct::qkv:
      return qkv_bias;
    case BlockProduct::attention_out:
      return -1;
    case BlockProduct::up:
      return up_bias;
    case BlockProduct::down:
      break;
  }
  return down_bias;
}

std::vector<float> initial_values(const Parameter& parameter, int index, std::uint64_t seed) {
  const auto elements = static_cast<std::size_t>(parameter.shape.elements());
  if (parameter.start != Parameter::Start::normal) {
    return std::vector<float>(elements, parameter.start == Parameter::Start::ones ? 1.0F : 0.0F);
  }
  const Philox random(seed, static_cast<std::uint64_t>(index));
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    values[i] = static_cast<float>(parameter.deviation) * random.normal(i);
  }
  return values;
}

}  // namespace athanor
