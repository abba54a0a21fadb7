// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/operations.h"

/// Numbers of operations that lie in tensors, for backends whose memory this process can read.
namespace athanor {

inline std::uint64_t stream_of(const Dropout& dropout) {
  if (!dropout.stream_base.present()) return dropout.stream;
  const std::span<const std::uint32_t> words = dropout.stream_base.span<std::uint32_t>();
  return dropout.stream + words[0] + (std::uint64_t{words[1]} << 32);
}

inline double gradient_scale_of(const HeadLoss& op) {
  if (!op.gradient_factor.present()) return op.gradient_scale;
  const double factor = op.gradient_factor.dtype == DType::f64 ? *op.gradient_factor.as<double>()
                                                               : *op.gradient_factor.as<float>();
  return op.gradient_scale * factor;
}

}  // namespace athanor
