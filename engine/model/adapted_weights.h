// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/io/weight_source.h"
#include "engine/model/adapters.h"

namespace athanor {

/// A model with its adapters merged: weight + scale · b · a, where the weight is as it was while
/// the adapters were trained, rounded to LoraConfig::base.
class AdaptedWeights : public WeightSource {
 public:
  /// `base`, which must outlive it, has the model's parameters, `adapters` those of its
  /// AdapterTable, which are read at once.
  AdaptedWeights(const ModelConfig& model, const LoraConfig& lora, const WeightSource& base,
                 const WeightSource& adapters);

  std::string name() const override { return name_; }
  DType type() const override { return DType::f32; }
  void read(int parameter, std::int64_t first, std::span<float> to) const override;

 private:
  /// What is added to rows of a parameter.
  struct Addend {
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    std::vector<float> a;  ///< [r, in]
    std::vector<float> b;  ///< [rows, r], scaled
  };

  void round_row(bool in_blocks, std::span<float> row) const;
  void add_to_row(const Addend& addend, std::int64_t row, std::span<float> to) const;

  LoraConfig lora_;
  std::vector<Parameter> parameters_;
  const WeightSource& base_;
  std::string name_;
  std::vector<std::vector<Addend>> addends_;  ///< by parameter
};

}  // namespace athanor
