// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/peaks.h"
#include "engine/backend/cuda/rows.h"
#include "engine/backend/with_activation.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 256;

/// A function and its slope at one place.
struct Value {
  float value;
  float slope;
};

__device__ __forceinline__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

__device__ __forceinline__ Value silu(float x) {
  const float s = sigmoid(x);
  const float value = x * s;
  return {value, fmaf(value, 1 - s, s)};
}

/// x/2 · (1 + tanh u) = x · sigmoid(2u) with 2u = x · (a + b x²).
__device__ __forceinline__ Value gelu(float x) {
  constexpr float kA = 1.59576912F;   // 2 √(2/π)
  constexpr float kB = 0.071354816F;  // kA · 0.044715
  const float square = x * x;
  const float s = sigmoid(x * fmaf(square, kB, kA));
  const float value = x * s;
  return {value, fmaf(value * (1 - s), fmaf(square, 3 * kB, kA), s)};
}

__device__ __forceinline__ Value relu2(float x) {
  const float positive = fmaxf(x, 0.0F);
  return {positive * positive, 2 * positive};
}

template <Activation kActivation>
__device__ __forceinline__ Value evaluate(float x) {
  if constexpr (kActivation == Activation::gelu) {
    return gelu(x);
  } else if constexpr (kActivation == Activation::relu2) {
    return relu2(x);
  } else {
    return silu(x);
  }
}

/// Where the eight elements of a thread lie.
struct Place {
  std::int64_t row;
  std::int64_t column;
  bool inside;
};

__device__ __forceinline__ Place place_of(std::int64_t rows, std::int64_t width) {
  const std::int64_t eights = (width + kEight - 1) / kEight;
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  return {index / eights, index % eights * kEight, index < rows * eights};
}

/// Eight results; their largest magnitude.
template <Activation kActivation, bool kWhole>
__device__ __forceinline__ std::uint32_t activate(const Bf16* pre, Bf16* out, const Place& at,
                                                  std::int64_t width) {
  constexpr bool kGated = kActivation == Activation::swiglu;
  const Bf16* from = pre + at.row * width * (kGated ? 2 : 1) + at.column;
  const std::int64_t left = width - at.column;
  Eight x = load_eight<kWhole>(from, left);
  for (int j = 0; j < kEight; ++j)
    x.at[j] = evaluate<kActivation>(x.at[j]).value;
  if constexpr (kGated) {
    const Eight gated = load_eight<kWhole>(from + width, left);
    for (int j = 0; j < kEight; ++j)
      x.at[j] *= gated.at[j];
  }
  store_eight<kWhole>(x, out + at.row * width + at.column, left);
  return magnitude_bits(x);
}

template <Activation kActivation, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    activation_kernel(const Bf16* pre, Bf16* out, float* peak, std::int64_t rows,
                      std::int64_t width) {
  const Place at = place_of(rows, width);
  ATHANOR_SHARED(std::uint32_t, of_warps, [kWarp]);
  raise_peak_by_block(peak, at.inside ? activate<kActivation, kWhole>(pre, out, at, width) : 0,
                      of_warps);
}

/// The gradients of eight inputs, or of twice eight; their largest magnitude.
template <Activation kActivation, bool kWhole>
__device__ __forceinline__ std::uint32_t activate_backward(const Bf16* pre, const Bf16* d_out,
                                                           Bf16* d_pre, const Place& at,
                                                           std::int64_t width) {
  constexpr bool kGated = kActivation == Activation::swiglu;
  const std::int64_t place = at.row * width * (kGated ? 2 : 1) + at.column;
  const std::int64_t left = width - at.column;
  const Eight x = load_eight<kWhole>(pre + place, left);
  Eight d = load_eight<kWhole>(d_out + at.row * width + at.column, left);
  std::uint32_t peak = 0;
  if constexpr (kGated) {
    const Eight gated = load_eight<kWhole>(pre + place + width, left);
    Eight d_gated;
    for (int j = 0; j < kEight; ++j) {
      const Value value = evaluate<kActivation>(x.at[j]);
      d_gated.at[j] = d.at[j] * value.value;
      d.at[j] *= gated.at[j] * value.slope;
    }
    store_eight<kWhole>(d_gated, d_pre + place + width, left);
    peak = magnitude_bits(d_gated);
  } else {
    for (int j = 0; j < kEight; ++j)
      d.at[j] *= evaluate<kActivation>(x.at[j]).slope;
  }
  store_eight<kWhole>(d, d_pre + place, left);
  return max(peak, magnitude_bits(d));
}

template <Activation kActivation, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    activation_backward_kernel(const Bf16* pre, const Bf16* d_out, Bf16* d_pre, float* peak,
                               std::int64_t rows, std::int64_t width) {
  const Place at = place_of(rows, width);
  ATHANOR_SHARED(std::uint32_t, of_warps, [kWarp]);
  raise_peak_by_block(
      peak, at.inside ? activate_backward<kActivation, kWhole>(pre, d_out, d_pre, at, width) : 0,
      of_warps);
}

LaunchShape shape_for(std::int64_t rows, std::int64_t width) {
  return {blocks_for(rows * ((width + kEight - 1) / kEight), kThreads), kThreads};
}

}  // namespace

void mlp_activation(Stream stream, const MlpActivation& op) {
  const std::int64_t rows = op.out.rows();
  const std::int64_t width = op.out.row_elements();
  with_activation(op.activation, [&](auto activation) {
    with_flag(in_eights(width), [&](auto whole) {
      launch(activation_kernel<activation, whole>, shape_for(rows, width), stream,
             op.pre.as<Bf16>(), op.out.as<Bf16>(), peak_of(op.peak), rows, width);
    });
  });
}

void mlp_activation_backward(Stream stream, const MlpActivationBackward& op) {
  const std::int64_t rows = op.d_out.rows();
  const std::int64_t width = op.d_out.row_elements();
  with_activation(op.activation, [&](auto activation) {
    with_flag(in_eights(width), [&](auto whole) {
      launch(activation_backward_kernel<activation, whole>, shape_for(rows, width), stream,
             op.pre.as<Bf16>(), op.d_out.as<Bf16>(), op.d_pre.as<Bf16>(), peak_of(op.peak), rows,
             width);
    });
  });
}

}  // namespace athanor::cuda
