// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/fma_probe.h"

#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/fma_probe.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <atomic>
#include <chrono>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace athanor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// 24 independent chains hide the latency; gives the operations made.
double run_chains(std::int64_t rounds, float* result) {
  const hn::ScalableTag<float> d;
  constexpr int kChains = HWY_TARGET == HWY_AVX3 ? 24 : 12;
  hn::Vec<hn::ScalableTag<float>> chains[kChains];
  for (auto& chain : chains)
    chain = hn::Set(d, *result);
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 0.001F);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 24
    for (auto& chain : chains)
      chain = hn::MulAdd(chain, factor, term);
  }
  for (const auto& chain : chains)
    *result += hn::GetLane(chain);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace athanor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor {

HWY_EXPORT(run_chains);

double fma_peak_gflops(ThreadPool& pool) {
  constexpr std::int64_t kRounds = 100000;
  std::atomic<float> sink = 0;
  std::atomic<double> operations = 0;
  const auto begin = std::chrono::steady_clock::now();
  pool.parallel_for(pool.threads(), [&](std::int64_t) {
    float result = 1;
    operations += HWY_DYNAMIC_DISPATCH(run_chains)(kRounds, &result);
    sink += result;
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return operations / seconds.count() * 1e-9;
}

}  // namespace athanor
#endif
