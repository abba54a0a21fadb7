// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/block.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/backend/cuda/emulation/built_ins.h"
#include "engine/base/error.h"
#include "engine/base/philox.h"

namespace athanor::cuda::emulation {
namespace {

constinit thread_local Block* running_block = nullptr;

struct Running {
  explicit Running(Block& block) { running_block = &block; }
  ~Running() { running_block = nullptr; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace

Block::Block() {
  for (std::vector<Fiber*>* fibers : {&free_fibers_, &used_fibers_})
    fibers->reserve(kMost_threads);
  fibers_.reserve(kMost_threads);
}

Block& Block::of_this_host_thread() {
  thread_local Block block;
  return block;
}

Block& Block::running() {
  if (running_block == nullptr) {
    throw Error(ErrorKind::internal, "A function of CUDA's kernels is called outside of a kernel.");
  }
  return *running_block;
}

void Block::run_grid(const LaunchShape& shape, KernelCall call) {
  options_ = options();
  launched_at_ = shape.site;
  check(shape);
  const Running running(*this);
  call_ = call;
  shared_.set_sizes(shape.shared_bytes, options_.shared_limit_bytes);
  lay_out(shape);
  put_in_order(0);
  std::uint64_t number = 0;
  for (unsigned z = 0; z < shape.blocks.z; ++z) {
    for (unsigned y = 0; y < shape.blocks.y; ++y) {
      for (unsigned x = 0; x < shape.blocks.x; ++x, ++number) {
        if (options_.order == ThreadOrder::random && number != 0) put_in_order(number);
        built_ins.block_index = {x, y, z};
        run_block();
      }
    }
  }
}

void Block::lay_out(const LaunchShape& shape) {
  const dim3 size = shape.threads;
  count_ = static_cast<int>(size.x * size.y * size.z);
  threads_.resize(static_cast<std::size_t>(count_));
  unsigned number = 0;
  for (Thread& thread : threads_) {
    thread.index = {number % size.x, number / size.x % size.y, number / (size.x * size.y)};
    thread.number = static_cast<int>(number);
    thread.lane = thread.number % kLanes;
    thread.warp = thread.number / kLanes;
    ++number;
  }
  // Made by a kernel's thread, they would look like memory that threads race for.
  while (kThread_sanitizer && fibers_.size() < threads_.size())
    free_fibers_.push_back(&new_fiber());
  built_ins.block_size = size;
  built_ins.grid_size = shape.blocks;
}

void Block::put_in_order(std::uint64_t block) {
  const auto end = order_.begin() + count_;
  std::iota(order_.begin(), end, 0);
  if (options_.order == ThreadOrder::reverse) std::reverse(order_.begin(), end);
  if (options_.order == ThreadOrder::random) {
    const Philox random(options_.seed, block);
    for (int i = count_ - 1; i > 0; --i) {
      const auto other = random.word(static_cast<std::uint64_t>(i)) % static_cast<unsigned>(i + 1);
      std::swap(order_[static_cast<std::size_t>(i)], order_[other]);
    }
  }
  for (int position = 0; position < count_; ++position)
    at(position).position = position;
}

void Block::reset_threads() {
  for (Thread& thread : threads_) {
    thread.over = false;
    thread.copies.clear();
  }
  for (int warp = 0; warp < count_ / kLanes; ++warp) {
    warps_[static_cast<std::size_t>(warp)].alive = ~std::uint32_t{0};
    warps_[static_cast<std::size_t>(warp)].arrived = 0;
  }
  for (NamedBarrier& barrier : named_barriers_) {
    if (barrier.arrived != 0) barrier = {};
  }
  barrier_.arrived = 0;
  alive_ = count_;
  runnable_.fill(count_);
}

void Block::run_block() {
  shared_.begin_block();
  reset_threads();
  release(&block_begins_);
  go_on_with(0, host_);
  if (alive_ != 0) {
    // Only where everyone waits is the host thread back before they all left.
    const auto stuck = std::find_if(threads_.begin(), threads_.end(),
                                    [](const Thread& thread) { return !thread.over; });
    current_ = &*stuck;
    note_failure(fault(stuck->site, "nobody can go on: " + who_waits()));
    go_on_with(runnable_.next_after(0), host_);
  }
  acquire(&thread_ends_);
  current_ = nullptr;
  free_fibers_.insert(free_fibers_.end(), used_fibers_.begin(), used_fibers_.end());
  used_fibers_.clear();
  const std::string damage = shared_.end_block();
  if (failure_ == nullptr && !damage.empty()) failure_ = fault(launched_at_, damage);
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Block::carry() {
  Block& block = Block::running();
  block.current_->fiber->arrive();
  for (;;) {
    block.run_current();
    block.leave();
  }
}

void Block::run_current() {
  acquire(&block_begins_);
  try {
    call_.call(call_.arguments);
    check_exit();
  } catch (const Abandoned&) {
    // What failed is noted.
  } catch (...) {
    note_failure(std::current_exception());
  }
  Thread& left = *current_;
  left.over = true;
  runnable_.erase(left.position);
  --alive_;
  warps_[static_cast<std::size_t>(left.warp)].alive &= ~(1U << left.lane);
  release(&thread_ends_);
}

void Block::leave() {
  Thread& left = *current_;
  Fiber& fiber = *std::exchange(left.fiber, nullptr);
  const int next = runnable_.next_after(left.position);
  if (!kThread_sanitizer && next >= 0 && at(next).fiber == nullptr) {
    current_ = &at(next);
    current_->fiber = &fiber;
    built_ins.thread_index = current_->index;
    return;
  }
  // On the same fiber two threads would have no race that ThreadSanitizer sees.
  (kThread_sanitizer ? used_fibers_ : free_fibers_).push_back(&fiber);
  if (next >= 0) {
    go_on_with(next, fiber);
  } else {
    Fiber::swap(fiber, host_);
  }
}

void Block::go_on_with(int position, Fiber& from) {
  Thread& next = at(position);
  if (next.fiber == nullptr) next.fiber = &free_fiber();
  current_ = &next;
  built_ins.thread_index = next.index;
  Fiber::swap(from, *next.fiber);
}

Fiber& Block::new_fiber() {
  fibers_.push_back(std::make_unique<Fiber>(&Block::carry, static_cast<int>(fibers_.size())));
  return *fibers_.back();
}

Fiber& Block::free_fiber() {
  if (free_fibers_.empty()) return new_fiber();
  Fiber* const fiber = free_fibers_.back();
  free_fibers_.pop_back();
  return *fiber;
}

void Block::wait(const char* name, const CallSite& site, std::uint32_t lanes) {
  Thread& me = *current_;
  me.waits_at = name;
  me.site = site;
  me.waits_for = lanes;
  runnable_.erase(me.position);
  give_way(runnable_.next_after(me.position));
}

void Block::give_way(int next) {
  Thread& me = *current_;
  if (next == me.position) return;
  if (next >= 0) {
    go_on_with(next, *me.fiber);
  } else {
    Fiber::swap(*me.fiber, host_);
  }
  if (failure_ != nullptr) throw Abandoned{};
}

}  // namespace athanor::cuda::emulation
