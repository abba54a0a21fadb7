// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/random_words.h"
#include "engine/backend/cuda/stored_weights.h"
#include "engine/backend/moment_codes.h"

namespace athanor::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kCodes = 256;
/// Elements of a lane, with as many lanes between them.
constexpr int kElements = static_cast<int>(kMomentBlock) / kWarp;

/// The two maps of moment_codes.h, without the buckets that processors search by.
struct MomentMaps {
  float m_values[kCodes];
  float m_bounds[kCodes];
  float v_values[kCodes];
  float v_bounds[kCodes];
};

constexpr MomentMaps moment_maps() {
  const MomentValues m = moment_values(true);
  const MomentValues v = moment_values(false);
  MomentMaps maps{};
  for (std::size_t i = 0; i < kCodes; ++i) {
    maps.m_values[i] = m.values[i];
    maps.m_bounds[i] = m.bounds[i];
    maps.v_values[i] = v.values[i];
    maps.v_bounds[i] = v.bounds[i];
  }
  return maps;
}

__constant__ const MomentMaps kMoment_maps = moment_maps();

/// How many of `bounds`, which rise and end in infinity, lie below `share`.
__device__ __forceinline__ int nearest_code(float share, const float* bounds) {
  int below = 0;
  for (int step = kCodes / 2; step > 0; step /= 2)
    below += bounds[below + step - 1] < share ? step : 0;
  return below;
}

__device__ __forceinline__ float scale_of(float largest) {
  return fminf(fmaxf(largest, kLeast_moment_scale), kMost_moment_scale);
}

struct CodedMoments {
  std::uint8_t* m;
  std::uint8_t* v;
  float* m_scale;
  float* v_scale;
};

/// One warp a block of moments, whose new scales it knows only when all its elements are updated.
template <Keeping kKeeping, class Gradient>
__global__ void __launch_bounds__(kWarps* kWarp)
    adamw_8bit_kernel(WeightPlaces to, const Gradient* gradients, CodedMoments moments,
                      std::int64_t count, AdamWFactors factors) {
  ATHANOR_SHARED(MomentMaps, maps, [1]);
  const auto* from = reinterpret_cast<const float*>(&kMoment_maps);
  for (unsigned i = threadIdx.x; i < sizeof(MomentMaps) / sizeof(float); i += kWarps * kWarp)
    reinterpret_cast<float*>(maps)[i] = from[i];
  __syncthreads();
  const std::int64_t block = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const std::int64_t first = block * kMomentBlock + threadIdx.x % kWarp;
  if (block * kMomentBlock >= count) return;
  const float m_scale = moments.m_scale[block];
  const float v_scale = moments.v_scale[block];
  float m[kElements];
  float v[kElements];
  float largest_m = 0;
  float largest_v = 0;
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    const std::int64_t i = first + j * kWarp;
    m[j] = 0;
    v[j] = 0;
    if (i >= count) continue;
    float weight = number_at<kKeeping>(to, i);
    m[j] = maps[0].m_values[moments.m[i]] * m_scale;
    v[j] = maps[0].v_values[moments.v[i]] * v_scale;
    adamw_step(factors, as_float(gradients[i]), weight, m[j], v[j]);
    std::uint32_t word = 0;
    if constexpr (kKeeping == Keeping::random)
      word = word_at(to.rounding, static_cast<std::uint64_t>(i));
    keep_number<kKeeping>(to, i, weight, word);
    largest_m = fmaxf(largest_m, fabsf(m[j]));
    largest_v = fmaxf(largest_v, v[j]);
  }
  const float new_m_scale = scale_of(warp_max(largest_m));
  const float new_v_scale = scale_of(warp_max(largest_v));
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    const std::int64_t i = first + j * kWarp;
    if (i >= count) continue;
    // A v rounded to 0 beside an m that is not would make the next update m / ε.
    const int least = v[j] > 0 ? 1 : 0;
    moments.m[i] = static_cast<std::uint8_t>(nearest_code(m[j] / new_m_scale, maps[0].m_bounds));
    const int code = nearest_code(v[j] / new_v_scale, maps[0].v_bounds);
    moments.v[i] = static_cast<std::uint8_t>(code > least ? code : least);
  }
  if (threadIdx.x % kWarp == 0) {
    moments.m_scale[block] = new_m_scale;
    moments.v_scale[block] = new_v_scale;
  }
}

}  // namespace

void adamw_8bit(Stream stream, const AdamW8& op) {
  const std::int64_t count = op.gradients.elements();
  const WeightPlaces places(op.to, op.at.rounding);
  const AdamWFactors factors = adamw_factors(op.at);
  const CodedMoments moments{op.m.as<std::uint8_t>(), op.v.as<std::uint8_t>(),
                             op.m_scale.as<float>(), op.v_scale.as<float>()};
  with_keeping(op.to, [&](auto keeping) {
    with_type_of(op.gradients, [&]<class Gradient>(Gradient*) {
      launch(adamw_8bit_kernel<keeping, Gradient>,
             {blocks_for(moment_blocks(count), kWarps), kWarps * kWarp}, stream, places,
             op.gradients.as<Gradient>(), moments, count, factors);
    });
  });
}

}  // namespace athanor::cuda
