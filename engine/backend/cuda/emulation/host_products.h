// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/products.h"

namespace athanor::cuda {

/// Plain products on the processor in place of cuBLASLt's: f32 sums in order of the depth.
class HostProducts : public Products {
 public:
  void use_workspace(const Tensor& workspace) override;
  void tune(bool on) override;
  void linear(const Linear& op) override;
  void linear_backward(const LinearBackward& op) override;
  void multiply(const MatrixProduct& op) override;

 private:
  bool ready_ = false;
};

}  // namespace athanor::cuda
