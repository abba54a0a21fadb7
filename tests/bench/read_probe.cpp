// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/read_probe.h"

#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/read_probe.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace athanor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::uint64_t read_words(const std::uint64_t* words, std::int64_t count) {
  const hn::ScalableTag<std::uint64_t> d;
  constexpr int kChains = 8;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  hn::Vec<hn::ScalableTag<std::uint64_t>> chains[kChains];
  for (auto& chain : chains)
    chain = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kChains * kLanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c)
      chains[c] = hn::Xor(chains[c], hn::LoadU(d, words + i + c * kLanes));
  }
  auto all = hn::Zero(d);
  for (const auto& chain : chains)
    all = hn::Xor(all, chain);
  HWY_ALIGN std::uint64_t lanes[kLanes];
  hn::Store(all, d, lanes);
  std::uint64_t result = 0;
  for (const std::uint64_t lane : lanes)
    result ^= lane;
  return result;
}

}  // namespace athanor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor {

HWY_EXPORT(read_words);

std::uint64_t read_all(const std::uint64_t* words, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(read_words)(words, count);
}

}  // namespace athanor
#endif
