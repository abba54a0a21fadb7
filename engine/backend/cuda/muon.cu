// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/stored_weights.h"
#include "engine/backend/newton_schulz.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 256;
/// Consecutive elements of a thread, as many as share a block of random words.
constexpr int kElements = 4;

/// The momentum's step, and each block's part of Σu².
template <class Gradient>
__global__ void __launch_bounds__(kThreads)
    muon_momentum_kernel(const Gradient* gradients, float* momentum, std::int64_t count,
                         MuonFactors factors, double* sums) {
  ATHANOR_SHARED(double, parts, [2][kWarp]);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  float squares = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    const float g = as_float(gradients[i]) * factors.gradient;
    const float m = fmaf(factors.momentum, momentum[i], g);
    const float u = fmaf(factors.momentum, m, g);
    momentum[i] = m;
    squares = fmaf(u, u, squares);
  }
  const double sum = block_sum(static_cast<double>(squares), parts, 0);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    muon_norm_kernel(const double* sums, std::int64_t count, MuonFactors factors, float* factor) {
  ATHANOR_SHARED(double, parts, [2][kWarp]);
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads)
    sum += sums[i];
  sum = block_sum(sum, parts, 0);
  if (threadIdx.x == 0) *factor = factors.of_norm(sqrt(sum));
}

/// y = factor · u
template <class Gradient>
__global__ void __launch_bounds__(kThreads)
    muon_begin_kernel(const Gradient* gradients, const float* momentum, std::int64_t count,
                      MuonFactors factors, const float* factor, Bf16* y) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const float g = as_float(gradients[i]) * factors.gradient;
  y[i] = to_bf16(fmaf(factors.momentum, momentum[i], g) * *factor);
}

template <Keeping kKeeping>
__global__ void __launch_bounds__(kThreads)
    muon_update_kernel(WeightPlaces to, const Bf16* y, std::int64_t count, MuonFactors factors) {
  const std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kElements;
  Philox::Block words{};
  if constexpr (kKeeping == Keeping::random)
    words = to.rounding.block(static_cast<std::uint64_t>(first) / kElements);
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    const std::int64_t i = first + j;
    if (i >= count) return;
    const float weight = number_at<kKeeping>(to, i) * factors.keep - to_float(y[i]) * factors.rate;
    keep_number<kKeeping>(to, i, weight, words[j]);
  }
}

}  // namespace

void muon_begin(Stream stream, const Muon& op, double* sums) {
  const std::int64_t count = op.x.elements();
  const MuonFactors factors = muon_factors(op);
  const unsigned blocks = blocks_for(count, kThreads);
  const unsigned parts = std::min(static_cast<unsigned>(kSquareParts), blocks);
  auto* factor = reinterpret_cast<float*>(sums + kSquareParts);
  with_type_of(op.gradients, [&]<class Gradient>(Gradient*) {
    const auto* gradients = op.gradients.as<Gradient>();
    auto* momentum = op.momentum.as<float>();
    launch(muon_momentum_kernel<Gradient>, {parts, kThreads}, stream, gradients, momentum, count,
           factors, sums);
    launch(muon_norm_kernel, {1, kThreads}, stream, sums, std::int64_t{parts}, factors, factor);
    launch(muon_begin_kernel<Gradient>, {blocks, kThreads}, stream, gradients, momentum, count,
           factors, factor, op.x.as<Bf16>());
  });
}

void muon_update(Stream stream, const Muon& op, const Tensor& y) {
  const std::int64_t count = y.elements();
  const WeightPlaces places(op.to, op.at.rounding);
  with_keeping(op.to, [&](auto keeping) {
    launch(muon_update_kernel<keeping>, {blocks_for(count, kThreads * kElements), kThreads}, stream,
           places, y.as<Bf16>(), count, muon_factors(op));
  });
}

}  // namespace athanor::cuda
