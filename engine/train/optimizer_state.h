// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "engine/model/parameters.h"
#include "engine/tensor/arena.h"
#include "engine/train/train_config.h"

namespace athanor {

/// What an optimizer remembers of one parameter: AdamW's moments as numbers, or as codes with their
/// blocks' scales (AdamW8), or Muon's momentum alone.
struct ParameterMoments {
  Tensor m;         ///< like the parameter, or u8 of as many elements
  Tensor v;         ///< like m
  Tensor m_scale;   ///< present with codes
  Tensor v_scale;   ///< present with codes
  Tensor momentum;  ///< like the parameter

  bool coded() const { return m_scale.present(); }
  bool of_muon() const { return momentum.present(); }
};

/// What is remembered of all parameters, in a few flat tensors of an arena.
class OptimizerState {
 public:
  OptimizerState() = default;
  OptimizerState(const ParameterList& table, const TrainConfig& train, DType real, Arena& arena);

  const ParameterMoments& of(std::size_t parameter) const { return moments_[parameter]; }
  /// Everything there is, to be zeroed at the start of a run.
  const std::vector<Tensor>& flat() const { return flat_; }
  bool any_coded() const;
  bool any_of_muon() const;

 private:
  std::vector<Tensor> flat_;
  std::vector<ParameterMoments> moments_;
};

/// Whether 8-bit moments may stand for this parameter's: they may not where the tensor is small,
/// nor for embeddings, the head and norms, whose gradients differ too much within a block.
bool takes_codes(const Parameter& parameter);

}  // namespace athanor
