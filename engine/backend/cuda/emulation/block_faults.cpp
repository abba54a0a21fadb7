// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <tuple>

#include "engine/backend/cuda/emulation/block.h"
#include "engine/backend/cuda/emulation/built_ins.h"
#include "engine/base/error.h"

/// What a block says of a kernel or a launch that is wrong.
namespace athanor::cuda::emulation {
namespace {

std::string text_of(const uint3& index) {
  std::string text = "(";
  text.append(std::to_string(index.x)).append(", ");
  text.append(std::to_string(index.y)).append(", ");
  return text.append(std::to_string(index.z)).append(")");
}

/// Adds "3", or "3-7" when a run of numbers goes on.
void add_run(std::string& text, int first, int last) {
  if (!text.empty()) text += ", ";
  text += std::to_string(first);
  if (last != first) text.append("-").append(std::to_string(last));
}

/// "0-7, 9" of numbers that rise.
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    add_run(text, numbers[first], numbers[last]);
    first = last + 1;
  }
  return text;
}

std::vector<int> lanes_of(std::uint32_t mask) {
  std::vector<int> lanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) lanes.push_back(lane);
  }
  return lanes;
}

/// Threads that wait at one place.
struct Group {
  const Block::Thread* first;
  std::vector<int> numbers;
};

bool together(const Block::Thread& a, const Block::Thread& b) {
  return a.waits_at == b.waits_at && same(a.site, b.site) && a.waits_for == b.waits_for &&
         (a.waits_for == 0 || a.warp == b.warp);
}

}  // namespace

void Block::fail(const CallSite& site, const std::string& what) {
  note_failure(fault(site, what));
  throw Abandoned{};
}

void Block::note_failure(std::exception_ptr failure) {
  if (failure_ == nullptr) failure_ = std::move(failure);
  for (Thread& thread : threads_) {
    if (thread.over) continue;
    if (thread.fiber != nullptr) {
      wake(thread);
    } else {
      thread.over = true;
      runnable_.erase(thread.position);
      --alive_;
    }
  }
}

std::exception_ptr Block::fault(const CallSite& site, const std::string& what) const {
  std::string where = emulation::text_of(site) + ", block " + text_of(built_ins.block_index);
  if (current_ != nullptr) where += ", thread " + std::to_string(current_->number);
  return std::make_exception_ptr(
      Error(ErrorKind::internal, "A kernel is wrong at " + where + ": " + what + "."));
}

std::string Block::who_waits() const {
  std::vector<Group> groups;
  for (const Thread& thread : threads_) {
    if (thread.over || runnable_.contains(thread.position)) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
      return together(*known.first, thread);
    });
    if (group == groups.end()) {
      groups.push_back({&thread, {thread.number}});
    } else {
      group->numbers.push_back(thread.number);
    }
  }
  constexpr std::size_t kMost_groups = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMost_groups); ++i) {
    const Group& group = groups[i];
    if (i != 0) text += "; ";
    text += (group.numbers.size() == 1 ? "thread " : "threads ") + ranges(group.numbers) +
            (group.numbers.size() == 1 ? " waits at " : " wait at ") + group.first->waits_at +
            " (" + emulation::text_of(group.first->site) + ")";
    if (group.first->waits_for == 0) continue;
    const Warp& warp = warps_[static_cast<std::size_t>(group.first->warp)];
    text += " for lanes " + ranges(lanes_of(group.first->waits_for & ~warp.arrived));
  }
  if (groups.size() > kMost_groups) text += "; and others elsewhere";
  return text;
}

void Block::check_exit() {
  const Thread& me = *current_;
  if (const CallSite* const copy = me.copies.first()) {
    fail(*copy, "the thread leaves the kernel without copy_async_wait for a copy that it began");
  }
  if (barrier_.arrived != 0) {
    fail(barrier_.site, std::string("the thread leaves the kernel while others wait at ") +
                            barrier_.name + ": " + who_waits());
  }
  const Warp& warp = warps_[static_cast<std::size_t>(me.warp)];
  for (int lane = 0; warp.arrived >> lane != 0 && lane < kLanes - 1; ++lane) {
    if ((warp.arrived >> lane & 1) == 0) continue;
    const WarpRequest& request = *warp.requests[static_cast<std::size_t>(lane)];
    if ((request.mask >> me.lane & 1) == 0) continue;
    fail(request.site, std::string("the thread leaves the kernel while lane ") +
                           std::to_string(lane) + " waits for it at " + request.operation->name);
  }
}

void Block::check_lanes(const Warp& warp, const WarpRequest& request) {
  const Thread& me = *current_;
  const std::string name = request.operation->name;
  if ((request.mask >> me.lane & 1) == 0) {
    fail(request.site,
         name + " has a mask without the lane that calls it, " + std::to_string(me.lane));
  }
  if ((request.mask & ~warp.alive) != 0) {
    fail(request.site, name + " is missing lanes: " + ranges(lanes_of(request.mask & ~warp.alive)) +
                           " of its mask left the kernel");
  }
  if ((request.mask >> request.source_lane & 1) == 0) {
    fail(request.site, name + " reads lane " + std::to_string(request.source_lane) +
                           ", which is not in its mask");
  }
  for (int other = 0; other < kLanes; ++other) {
    if ((warp.arrived & request.mask) >> other & 1) check_alike(warp, request, other);
  }
}

void Block::check_alike(const Warp& warp, const WarpRequest& request, int other) {
  const WarpRequest& first = *warp.requests[static_cast<std::size_t>(other)];
  if (alike(first, request)) return;
  std::string what = "lanes of a warp diverge: lane " + std::to_string(current_->lane) + " is at ";
  what.append(request.operation->name).append(" and lane ").append(std::to_string(other));
  what.append(" waits for it at ").append(first.operation->name);
  what.append(" (").append(emulation::text_of(first.site)).append(")");
  if (first.mask != request.mask) what += " with another mask";
  fail(request.site, what);
}

void Block::check(const LaunchShape& shape) const {
  const dim3& grid = shape.blocks;
  const dim3& block = shape.threads;
  constexpr std::uint64_t kMost_blocks = 0x7FFFFFFF;
  constexpr std::uint64_t kMost_blocks_across = 65535;
  constexpr unsigned kMost_threads_deep = 64;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::internal,
                "A launch is wrong at " + emulation::text_of(shape.site) + ": " + what + ".");
  };
  if (current_ != nullptr) refuse("a kernel launches another");
  if (block.x > kMost_threads || block.y > kMost_threads || block.z > kMost_threads_deep ||
      threads > kMost_threads) {
    refuse("a block has " + std::to_string(threads) + " threads; the limit is " +
           std::to_string(kMost_threads));
  }
  if (threads == 0) refuse("a block has 0 threads");
  if (threads % kLanes != 0) {
    refuse("a block has " + std::to_string(threads) + " threads, which is not whole warps of 32");
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) refuse("the grid has 0 blocks");
  if (grid.x > kMost_blocks || grid.y > kMost_blocks_across || grid.z > kMost_blocks_across) {
    refuse("the grid of " + text_of({grid.x, grid.y, grid.z}) + " blocks is over CUDA's limits");
  }
  if (shape.shared_bytes > options_.shared_limit_bytes) {
    refuse("it asks for " + std::to_string(shape.shared_bytes) +
           " bytes of dynamic shared memory; the limit is " +
           std::to_string(options_.shared_limit_bytes));
  }
}

}  // namespace athanor::cuda::emulation
