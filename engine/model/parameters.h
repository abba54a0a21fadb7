// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// One trained tensor and where it lies in the flat tensor of all parameters.
struct Parameter {
  enum class Start { normal, ones, zeros };

  std::string name;  ///< "layers.3.qkv"
  Shape shape;
  bool decay = true;  ///< weight decay applies: matrices yes, norms and biases no
  Start start = Start::normal;
  double deviation = 0;     ///< of the normal distribution it starts from
  std::int64_t offset = 0;  ///< in elements
  /// Rows of the matrices of a layer that lie here, one under the other: queries, keys and values,
  /// gate and up, mostly one. Empty of all else.
  std::vector<std::int64_t> matrix_rows = {};
};

/// The four products of a block, by the matrix of weights.
enum class BlockProduct { qkv, attention_out, up, down };
inline constexpr int kBlockProducts = 4;

/// Indices into ParameterTable::all(); -1 where the model has no such tensor.
struct LayerParameters {
  int attention_norm = -1;  ///< [d]
  int qkv = -1;             ///< [a, d]: query, key, value rows
  int qkv_bias = -1;        ///< [a], with qkv_biases
  int q_norm = -1;          ///< [head_dim], with qk_norm
  int k_norm = -1;          ///< [head_dim], with qk_norm
  int attention_out = -1;   ///< [d, q]
  int mlp_norm = -1;        ///< [d]
  int up = -1;              ///< [2f, d] gate then up rows when gated, else [f, d]
  int up_bias = -1;         ///< with biases
  int down = -1;            ///< [d, f]
  int down_bias = -1;       ///< with biases

  int weight(BlockProduct product) const;
  /// -1 without one.
  int bias(BlockProduct product) const;
};

/// Neighbours in a flat tensor, with the padding behind them.
struct ParameterRange {
  std::int64_t offset = 0;  ///< in elements, like the next
  std::int64_t elements = 0;
};

/// Parameters in one flat tensor, each starting on its own cache line. Weights and gradients share
/// this layout.
class ParameterList {
 public:
  const std::vector<Parameter>& all() const { return parameters_; }

  /// Numbers, without the padding of the flat tensor.
  std::int64_t count() const { return count_; }
  /// Elements of the flat tensor.
  std::int64_t flat_elements() const { return flat_elements_; }
  ParameterRange range_of(int index) const;
  /// The view of one parameter in a flat tensor, or in its part from `first` on; absent for index
  /// -1.
  Tensor view(const Tensor& flat, int index, std::int64_t first = 0) const;

 protected:
  int add(std::string name, Shape shape, bool decay, Parameter::Start start, double deviation);
  /// Matrices of so many rows each, one under the other.
  int add_matrices(std::string name, std::vector<std::int64_t> rows, std::int64_t columns,
                   Parameter::Start start, double deviation);

 private:
  std::vector<Parameter> parameters_;
  std::int64_t count_ = 0;
  std::int64_t flat_elements_ = 0;
};

/// Every parameter of a model.
class ParameterTable : public ParameterList {
 public:
  explicit ParameterTable(const ModelConfig& config);

  int embedding() const { return embedding_; }
  const LayerParameters& layer(std::int64_t index) const {
    return layers_[static_cast<std::size_t>(index)];
  }
  std::int64_t layers() const { return static_cast<std::int64_t>(layers_.size()); }
  int final_norm() const { return final_norm_; }
  /// The embedding itself where they are tied.
  int head() const { return head_; }

  ParameterRange range_of_layer(std::int64_t index) const;

 private:
  void add_layer(const ModelConfig& config, std::int64_t index);

  std::vector<LayerParameters> layers_;
  int embedding_ = -1;
  int final_norm_ = -1;
  int head_ = -1;
};

/// Gradients of neighbouring parameters, which are being worked on.
struct OpenGradients {
  Tensor flat;
  std::int64_t first = 0;  ///< where in all of them they begin

  Tensor of(const ParameterList& list, int index) const { return list.view(flat, index, first); }
};

/// The starting values of parameter `index`: normal numbers of Philox(seed, index), ones or zeros.
std::vector<float> initial_values(const Parameter& parameter, int index, std::uint64_t seed);

}  // namespace athanor
