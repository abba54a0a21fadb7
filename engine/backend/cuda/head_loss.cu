// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/rows.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 512;

/// The largest of some logits and Σ e^(logit − largest).
struct Exponentials {
  float largest = -INFINITY;
  float sum = 0;
};

__device__ __forceinline__ Exponentials joined(const Exponentials& a, const Exponentials& b) {
  const float largest = fmaxf(a.largest, b.largest);
  // Of no logits at all, −∞ − −∞ would be no number.
  if (largest == -INFINITY) return {};
  return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ __forceinline__ Exponentials shuffled(const Exponentials& x, int offset) {
  return {__shfl_xor_sync(kAllLanes, x.largest, offset), __shfl_xor_sync(kAllLanes, x.sum, offset)};
}

__device__ __forceinline__ Exponentials over_warp(Exponentials x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    x = joined(x, shuffled(x, offset));
  return x;
}

/// Of all logits of a row but the target's.
template <bool kWhole>
__device__ __forceinline__ Exponentials of_others(const Bf16* logits, std::int64_t vocabulary,
                                                  std::int32_t target,
                                                  Exponentials (&parts)[kWarp]) {
  Exponentials own;
  for (std::int64_t i = std::int64_t{threadIdx.x} * kEight; i < vocabulary;
       i += kThreads * kEight) {
    Eight x = load_eight<kWhole>(logits + i, vocabulary - i);
    float largest = own.largest;
    for (int j = 0; j < kEight; ++j) {
      if (i + j >= vocabulary || i + j == target) x.at[j] = -INFINITY;
      largest = fmaxf(largest, x.at[j]);
    }
    if (largest == -INFINITY) continue;
    own.sum *= expf(own.largest - largest);
    own.largest = largest;
    for (int j = 0; j < kEight; ++j)
      own.sum += expf(x.at[j] - largest);
  }
  own = over_warp(own);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) parts[threadIdx.x / kWarp] = own;
  __syncthreads();
  return over_warp(lane < kThreads / kWarp ? parts[lane] : Exponentials());
}

/// One block a row. The target is left out of the sum of the others, so that its gradient,
/// −(sum of the others) / sum, is exact where p is almost 1, before it is rounded.
template <bool kWhole>
__global__ void __launch_bounds__(kThreads)
    head_losses_kernel(Bf16* chunk, const std::int32_t* targets, float* losses,
                       std::int64_t vocabulary, bool gradients, float gradient_scale,
                       const float* gradient_factor, const float* row_factors) {
  ATHANOR_SHARED(Exponentials, parts, [kWarp]);
  Bf16* logits = chunk + blockIdx.x * vocabulary;
  const std::int32_t target = targets[blockIdx.x];
  const bool masked = target < 0;
  const float own = masked ? 0.0F : to_float(logits[target]);
  const Exponentials others = of_others<kWhole>(logits, vocabulary, target, parts);
  const float largest = fmaxf(others.largest, own);
  const float others_sum =
      others.largest == -INFINITY ? 0.0F : others.sum * expf(others.largest - largest);
  const float below = own - largest;
  const float sum = others_sum + expf(below);
  if (threadIdx.x == 0) {
    const float loss = below == 0 ? log1pf(others_sum) : logf(sum) - below;
    losses[blockIdx.x] = masked ? 0.0F : loss;
  }
  if (!gradients) return;
  if (gradient_factor != nullptr) gradient_scale *= *gradient_factor;
  if (row_factors != nullptr) gradient_scale *= row_factors[blockIdx.x];
  const float factor = masked ? 0.0F : gradient_scale / sum;
  for (std::int64_t i = std::int64_t{threadIdx.x} * kEight; i < vocabulary;
       i += kThreads * kEight) {
    Eight x = load_eight<kWhole>(logits + i, vocabulary - i);
    for (int j = 0; j < kEight; ++j) {
      const float gradient = factor == 0 ? 0.0F : expf(x.at[j] - largest) * factor;
      x.at[j] = i + j == target ? -gradient_scale * (others_sum / sum) : gradient;
    }
    store_eight<kWhole>(x, logits + i, vocabulary - i);
  }
}

}  // namespace

void head_losses(Stream stream, const HeadLoss& op, std::int64_t first, std::int64_t rows) {
  const std::int64_t vocabulary = op.weight.rows();
  with_flag(in_eights(vocabulary), [&](auto whole) {
    launch(head_losses_kernel<whole>, {static_cast<unsigned>(rows), kThreads}, stream,
           op.logits.as<Bf16>(), op.targets.as<std::int32_t>() + first,
           op.losses.as<float>() + first, vocabulary, op.d_x.present(),
           static_cast<float>(op.gradient_scale),
           op.gradient_factor.present() ? op.gradient_factor.as<float>() : nullptr,
           op.row_factors.present() ? op.row_factors.as<float>() + first : nullptr);
  });
}

}  // namespace athanor::cuda
