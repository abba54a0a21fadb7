// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <utility>

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
  void linear(const LinearFp8& op) override;
  void linear_backward(const LinearBackwardFp8& op) override;
  std::string take_notice() override { return std::exchange(notice_, {}); }

 private:
  /// As cuBLASLt's would: false, with a notice for the first, where there is no FP8 product.
  bool has_fp8(std::int64_t rows, std::int64_t in, std::int64_t out);

  Stream stream_;
  bool ready_ = false;
  bool noticed_ = false;
  std::string notice_;
};

}  // namespace athanor::cuda
