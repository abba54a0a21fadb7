// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/warp.h"

#include <array>
#include <bit>
#include <cstring>

#include "engine/backend/cuda/emulation/block.h"

namespace athanor::cuda::emulation {
namespace {

template <class Action>
void for_each_lane(std::uint32_t mask, const Action& action) {
  for (; mask != 0; mask &= mask - 1)
    action(std::countr_zero(mask));
}

void combine_shuffle(const WarpRequest* const* lanes, std::uint32_t mask) {
  for_each_lane(mask, [lanes](int lane) {
    const WarpRequest& to = *lanes[lane];
    const WarpRequest& from = *lanes[to.source_lane];
    if (to.bytes == sizeof(std::uint32_t)) {
      std::memcpy(to.out, from.in, sizeof(std::uint32_t));
    } else {
      std::memcpy(to.out, from.in, sizeof(std::uint64_t));
    }
  });
}

void combine_ballot(const WarpRequest* const* lanes, std::uint32_t mask) {
  std::uint32_t votes = 0;
  for_each_lane(mask, [&](int lane) {
    if (*static_cast<const bool*>(lanes[lane]->in)) votes |= 1U << lane;
  });
  for_each_lane(mask, [&](int lane) { *static_cast<std::uint32_t*>(lanes[lane]->out) = votes; });
}

void combine_sum(const WarpRequest* const* lanes, std::uint32_t mask) {
  std::uint32_t sum = 0;
  for_each_lane(mask,
                [&](int lane) { sum += *static_cast<const std::uint32_t*>(lanes[lane]->in); });
  for_each_lane(mask, [&](int lane) { *static_cast<std::uint32_t*>(lanes[lane]->out) = sum; });
}

constexpr std::array<WarpOperation, 4> kShuffles = {{{"__shfl_sync", &combine_shuffle},
                                                     {"__shfl_down_sync", &combine_shuffle},
                                                     {"__shfl_up_sync", &combine_shuffle},
                                                     {"__shfl_xor_sync", &combine_shuffle}}};
constexpr std::array<WarpOperation, 3> kVotes = {{{"__ballot_sync", &combine_ballot},
                                                  {"__any_sync", &combine_ballot},
                                                  {"__all_sync", &combine_ballot}}};
constexpr WarpOperation kSum{"__reduce_add_sync", &combine_sum};
constexpr WarpOperation kSync{"__syncwarp", nullptr};

/// The lane that `lane` reads; its own where CUDA gives a lane its own number back.
int source_of(Shuffle kind, int lane, int by, int width) {
  const int first = lane / width * width;
  const int last = first + width - 1;
  int source = lane;
  switch (kind) {
    case Shuffle::indexed:
      source = first + (by & (width - 1));
      break;
    case Shuffle::down:
      source = by > last - lane ? lane : lane + by;
      break;
    case Shuffle::up:
      source = by > lane - first ? lane : lane - by;
      break;
    case Shuffle::crossed:
      source = (lane ^ by) > last ? lane : lane ^ by;
      break;
  }
  return source;
}

}  // namespace

void shuffle(Shuffle kind, std::uint32_t mask, const void* in, void* out, std::size_t bytes, int by,
             int width, const CallSite& site) {
  Block& block = Block::running();
  const WarpOperation& operation = kShuffles[static_cast<std::size_t>(kind)];
  const int lane = block.thread().lane;
  if (width < 1 || width > kLanes || !std::has_single_bit(static_cast<unsigned>(width))) {
    block.fail(site, std::string(operation.name) + " has the width " + std::to_string(width));
  }
  if (kind == Shuffle::crossed && (by < 0 || by >= kLanes)) {
    block.fail(site, std::string(operation.name) + " of lanes " + std::to_string(by) + " apart");
  }
  block.warp_collective({.operation = &operation,
                         .mask = mask,
                         .site = site,
                         .in = in,
                         .out = out,
                         .source_lane = source_of(kind, lane, by, width),
                         .bytes = bytes});
}

std::uint32_t ballot(Vote kind, std::uint32_t mask, bool predicate, const CallSite& site) {
  Block& block = Block::running();
  std::uint32_t votes = 0;
  block.warp_collective({.operation = &kVotes[static_cast<std::size_t>(kind)],
                         .mask = mask,
                         .site = site,
                         .in = &predicate,
                         .out = &votes,
                         .source_lane = block.thread().lane});
  return votes;
}

std::uint32_t reduce_add(std::uint32_t mask, std::uint32_t value, const CallSite& site) {
  Block& block = Block::running();
  std::uint32_t sum = 0;
  block.warp_collective({.operation = &kSum,
                         .mask = mask,
                         .site = site,
                         .in = &value,
                         .out = &sum,
                         .source_lane = block.thread().lane});
  return sum;
}

void sync_warp(std::uint32_t mask, const CallSite& site) {
  Block& block = Block::running();
  block.warp_collective({.operation = &kSync,
                         .mask = mask,
                         .site = site,
                         .in = nullptr,
                         .out = nullptr,
                         .source_lane = block.thread().lane});
}

int sync_threads(const char* name, bool predicate, const CallSite& site) {
  return Block::running().sync_threads(name, predicate, site);
}

void* shared_variable(const SharedVariable& variable) {
  return Block::running().shared_variable(variable);
}

void* dynamic_shared(const CallSite& site) {
  return Block::running().dynamic_shared(site);
}

}  // namespace athanor::cuda::emulation
