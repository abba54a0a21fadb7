// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/stored_weights.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 256;
/// Consecutive elements of a thread, as many as share a block of random words.
constexpr int kElements = 4;

template <Keeping kKeeping, class Gradient>
__global__ void __launch_bounds__(kThreads)
    adamw_kernel(WeightPlaces to, const Gradient* gradients, float* m, float* v, std::int64_t count,
                 AdamWFactors factors) {
  const std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kElements;
  Philox::Block words{};
  if constexpr (kKeeping == Keeping::random)
    words = to.rounding.block(static_cast<std::uint64_t>(first) / kElements);
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    const std::int64_t i = first + j;
    if (i >= count) return;
    float weight = number_at<kKeeping>(to, i);
    float m_now = m[i];
    float v_now = v[i];
    adamw_step(factors, as_float(gradients[i]), weight, m_now, v_now);
    m[i] = m_now;
    v[i] = v_now;
    keep_number<kKeeping>(to, i, weight, words[j]);
  }
}

}  // namespace

void adamw(Stream stream, const AdamW& op) {
  const std::int64_t count = op.gradients.elements();
  const WeightPlaces places(op.to, op.at.rounding);
  const AdamWFactors factors = adamw_factors(op.at);
  with_keeping(op.to, [&](auto keeping) {
    with_type_of(op.gradients, [&]<class Gradient>(Gradient*) {
      launch(adamw_kernel<keeping, Gradient>, {blocks_for(count, kThreads * kElements), kThreads},
             stream, places, op.gradients.as<Gradient>(), op.m.as<float>(), op.v.as<float>(), count,
             factors);
    });
  });
}

}  // namespace athanor::cuda
