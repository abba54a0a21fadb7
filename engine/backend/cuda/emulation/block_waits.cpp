// SPDX-License-Identifier: GPL-3.0-or-later
#include <bit>
#include <cstdint>

#include "engine/backend/cuda/emulation/block.h"

/// What threads do together: barriers, warp functions and shared memory.
namespace athanor::cuda::emulation {

int Block::sync_threads(const char* name, bool predicate, const CallSite& site) {
  if (barrier_.arrived == 0) {
    barrier_.name = name;
    barrier_.site = site;
    barrier_.count = 0;
  } else if (!same(barrier_.site, site)) {
    fail(site, std::string("a divergent barrier: the thread is at ") + name +
                   " while others wait at " + barrier_.name + " (" + text_of(barrier_.site) + ")");
  }
  if (alive_ != count_) {
    fail(site, std::string(name) + " is called after " + std::to_string(count_ - alive_) +
                   " threads left the kernel");
  }
  barrier_.count += predicate ? 1 : 0;
  char& passed = barrier_.passed[barrier_.phase % 2];
  release(&passed);
  if (++barrier_.arrived == count_) {
    barrier_.arrived = 0;
    barrier_.result = barrier_.count;
    ++barrier_.phase;
    runnable_.fill(count_);
    give_way(0);
  } else {
    wait(name, site);
  }
  acquire(&passed);
  return barrier_.result;
}

void Block::named_barrier(int id, int threads, const CallSite& site) {
  if (id < 1 || id >= kNamed_barriers) {
    fail(site, "named_barrier has the id " + std::to_string(id) + ", which is not of 1 to 15");
  }
  if (threads <= 0 || threads > count_ || threads % kLanes != 0) {
    fail(site, "named_barrier of " + std::to_string(threads) + " threads in a block of " +
                   std::to_string(count_) + ", which is not a number of whole warps of it");
  }
  NamedBarrier& barrier = named_barriers_[static_cast<std::size_t>(id)];
  if (barrier.arrived == 0) {
    barrier.expected = threads;
    barrier.lanes = {};
  } else if (barrier.expected != threads) {
    fail(site, "named_barrier " + std::to_string(id) + " is of " + std::to_string(threads) +
                   " threads here and of " + std::to_string(barrier.expected) + " elsewhere");
  }
  char& passed = barrier.passed[barrier.phase % 2];
  release(&passed);
  barrier.lanes[static_cast<std::size_t>(current_->warp)] |= 1U << current_->lane;
  if (++barrier.arrived < threads) {
    wait("named_barrier", site);
    acquire(&passed);
    return;
  }
  for (int warp = 0; warp < kMost_warps; ++warp) {
    const std::uint32_t lanes = barrier.lanes[static_cast<std::size_t>(warp)];
    if (lanes == 0) continue;
    if (~lanes != 0) fail(site, "named_barrier is called by parts of warps");
    for (int lane = 0; lane < kLanes; ++lane)
      wake(threads_.data()[warp * kLanes + lane]);
  }
  barrier.arrived = 0;
  ++barrier.phase;
  acquire(&passed);
}

void Block::warp_collective(const WarpRequest& request) {
  Thread& me = *current_;
  Warp& warp = warps_[static_cast<std::size_t>(me.warp)];
  const std::uint32_t here = warp.arrived & request.mask;
  const bool usual =
      (request.mask >> me.lane & request.mask >> request.source_lane & 1) != 0 &&
      (request.mask & ~warp.alive) == 0 &&
      (here == 0 ||
       alike(*warp.requests[static_cast<std::size_t>(std::countr_zero(here))], request));
  if (!usual) check_lanes(warp, request);
  const auto lane = static_cast<std::size_t>(me.lane);
  warp.requests[lane] = &request;
  warp.arrived |= 1U << lane;
  release(&warp.came[lane]);
  if ((warp.arrived & request.mask) == request.mask) {
    complete(warp, request);
  } else {
    wait(request.operation->name, request.site, request.mask);
  }
  acquire(&warp.left[lane]);
}

void Block::complete(Warp& warp, const WarpRequest& request) {
  const Thread* const lanes = threads_.data() + current_->warp * kLanes;
  for (std::uint32_t rest = request.mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    // Lanes that are not in each other's masks came without a look at each other.
    if (!alike(*warp.requests[static_cast<std::size_t>(lane)], request)) {
      check_alike(warp, request, lane);
    }
    runnable_.insert(lanes[lane].position);
    if (kThread_sanitizer) acquire(&warp.came[static_cast<std::size_t>(lane)]);
  }
  if (request.operation->combine != nullptr) {
    request.operation->combine(warp.requests.data(), request.mask);
  }
  warp.arrived &= ~request.mask;
  if (!kThread_sanitizer) return;
  for (std::uint32_t rest = request.mask; rest != 0; rest &= rest - 1)
    release(&warp.left[static_cast<std::size_t>(std::countr_zero(rest))]);
}

void* Block::shared_variable(const SharedVariable& variable) {
  void* const begin = shared_.variable(variable);
  if (begin == nullptr) fail(variable.site, "too much shared memory: " + shared_.full(variable));
  return begin;
}

void* Block::dynamic_shared(const CallSite& site) {
  if (shared_.dynamic_bytes() == 0) {
    fail(site, "the launch asked for no dynamic shared memory");
  }
  return shared_.dynamic();
}

void Block::copy_async(void* shared, const void* global, bool present, const CallSite& site) {
  constexpr std::size_t kBytes = AsyncCopies::kCopy_bytes;
  if (reinterpret_cast<std::uintptr_t>(shared) % kBytes != 0) {
    fail(site, "copy_async_16 to a misaligned address");
  }
  if (present && reinterpret_cast<std::uintptr_t>(global) % kBytes != 0) {
    fail(site, "copy_async_16 from a misaligned address");
  }
  if (!shared_.holds(shared, kBytes)) fail(site, "copy_async_16 to outside of shared memory");
  current_->copies.begin(shared, present ? global : nullptr, site);
}

void Block::copy_async_wait(int pending, const CallSite& site) {
  if (const CallSite* const copy = current_->copies.wait(pending)) {
    fail(site, "something else was written to where a copy that began at " + text_of(*copy) +
                   " was on its way");
  }
}

}  // namespace athanor::cuda::emulation
