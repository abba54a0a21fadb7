// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/cuda/device.h"

namespace athanor::cuda {

/// The arguments of attention's backward direction. With D = Σ out · d_out of a row, the gradient
/// of its scores is P ∘ (d_out · valuesᵀ − D), but for the factor 1/√head_dim.
struct BackwardView {
  const Bf16* qkv;
  const Bf16* out;
  const Bf16* d_out;
  const float* lse;
  float* dots;  ///< [rows, heads], D
  const std::int32_t* document_starts;
  Bf16* d_qkv;
  int heads;
  int kv_heads;
  int sequence;
  float scale;     ///< 1/√head_dim
  int qkv_stride;  ///< numbers from row to row
  int out_stride;

  __device__ __forceinline__ int group() const { return heads / kv_heads; }
};

/// Columns of qkv where a head's keys and values begin.
template <int kHeadDim>
struct KeyColumns {
  int key;
  int value;

  __device__ __forceinline__ KeyColumns(const BackwardView& view, int key_head)
      : key((view.heads + key_head) * kHeadDim), value(key + view.kv_heads * kHeadDim) {}
};

/// Gradients of keys and values, once `dots` are there.
void launch_key_gradients(Stream stream, const BackwardView& view, std::int64_t head_dim,
                          std::int64_t rows);

}  // namespace athanor::cuda
