// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/products.h"
#include "engine/backend/cuda/stream.h"

namespace athanor::cuda {

/// Plain products on the processor in place of cuBLASLt's: f32 sums in order of the depth.
class HostProducts : public Products {
 public:
  explicit HostProducts(Stream stream) : stream_(stream) {}

  void use_workspace(const Tensor& workspace) override;
  void tune(bool on) override;
  void linear(const Linear& op) override;
  void linear_backward(const LinearBackward& op) override;
  /// As of the library, only in rows of eights.
  bool has_gelu_slope(const LinearBackward& op) override;
  void multiply(const MatrixProduct& op) override;

 private:
  Stream stream_;
  bool ready_ = false;
};

}  // namespace athanor::cuda
