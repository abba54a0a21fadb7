// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/cuda/emulation/async_copies.h"
#include "engine/backend/cuda/emulation/call_site.h"
#include "engine/backend/cuda/emulation/fiber.h"
#include "engine/backend/cuda/emulation/launch_shape.h"
#include "engine/backend/cuda/emulation/options.h"
#include "engine/backend/cuda/emulation/position_set.h"
#include "engine/backend/cuda/emulation/shared_memory.h"
#include "engine/backend/cuda/emulation/vectors.h"

namespace athanor::cuda::emulation {

inline constexpr int kLanes = 32;
inline constexpr int kMost_threads = PositionSet::kMost;
inline constexpr int kMost_warps = kMost_threads / kLanes;

/// A kernel and its arguments, which stay with who launches.
struct KernelCall {
  void (*call)(const void* arguments);
  const void* arguments;
};

/// What a warp function does once the lanes of its mask have all come.
struct WarpRequest;
struct WarpOperation {
  const char* name;
  void (*combine)(const WarpRequest* const* lanes, std::uint32_t mask);  ///< may be null
};
struct WarpRequest {
  const WarpOperation* operation;
  std::uint32_t mask;
  CallSite site;
  const void* in;
  void* out;
  int source_lane = 0;  ///< of shuffles
  std::size_t bytes = 0;
};

/// One block at a time of a launch: its threads as fibers, who may run and who waits for whom. One
/// for each host thread.
class Block {
 public:
  struct Thread {
    uint3 index = {};
    int number = 0;
    int lane = 0;
    int warp = 0;
    int position = 0;             ///< in the order
    bool over = false;            ///< left the kernel
    Fiber* fiber = nullptr;       ///< null before it starts
    const char* waits_at = "";    ///< a function's name, for reports
    CallSite site;                ///< of that call
    std::uint32_t waits_for = 0;  ///< lanes; 0: not a warp function
    AsyncCopies copies;
  };

  Block();
  ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The one whose thread runs. Throws internal outside of kernels.
  static Block& running();
  static Block& of_this_host_thread();

  /// Runs all blocks. Throws internal what is wrong with the kernel or with the launch.
  void run_grid(const LaunchShape& shape, KernelCall call);

  /// The built-ins, as the thread that runs calls them.
  /// The number of threads that came with a predicate that holds.
  int sync_threads(const char* name, bool predicate, const CallSite& site);
  void named_barrier(int id, int threads, const CallSite& site);
  void warp_collective(const WarpRequest& request);
  void* shared_variable(const SharedVariable& variable);
  void* dynamic_shared(const CallSite& site);
  void copy_async(void* shared, const void* global, bool present, const CallSite& site);
  void copy_async_commit() { current_->copies.commit(); }
  void copy_async_wait(int pending, const CallSite& site);

  const Thread& thread() const { return *current_; }
  const SharedMemory& shared() const { return shared_; }
  /// Ends the launch: "… is wrong at <site>, block …, thread …: <what>."
  [[noreturn]] void fail(const CallSite& site, const std::string& what);

 private:
  /// Unwinds a thread of a block that failed.
  struct Abandoned {};

  struct Warp {
    std::uint32_t alive = 0;
    std::uint32_t arrived = 0;
    std::array<const WarpRequest*, kLanes> requests = {};
    std::array<char, kLanes> came = {};  ///< for acquire() and release()
    std::array<char, kLanes> left = {};
  };
  struct Barrier {
    int arrived = 0;
    int count = 0;  ///< of predicates that hold
    int result = 0;
    const char* name = "";
    CallSite site;
    unsigned phase = 0;
    std::array<char, 2> passed = {};  ///< by phase, for acquire() and release()
  };
  struct NamedBarrier {
    int arrived = 0;
    int expected = 0;
    unsigned phase = 0;
    std::array<std::uint32_t, kMost_warps> lanes = {};
    std::array<char, 2> passed = {};
  };
  static constexpr int kNamed_barriers = 16;

  void check(const LaunchShape& shape) const;
  void lay_out(const LaunchShape& shape);
  void put_in_order(std::uint64_t block);
  void run_block();
  void reset_threads();

  static void carry();
  void run_current();
  void check_exit();
  void leave();
  void go_on_with(int position, Fiber& from);
  Fiber& free_fiber();
  Fiber& new_fiber();

  /// Gives way until another thread wakes this one.
  void wait(const char* name, const CallSite& site, std::uint32_t lanes = 0);
  void give_way(int next);
  void wake(Thread& thread) { runnable_.insert(thread.position); }
  Thread& at(int position) { return threads_[static_cast<std::size_t>(order_[position])]; }

  void note_failure(std::exception_ptr failure);
  std::exception_ptr fault(const CallSite& site, const std::string& what) const;
  std::string who_waits() const;
  static bool alike(const WarpRequest& a, const WarpRequest& b) {
    return a.operation == b.operation && a.mask == b.mask && same(a.site, b.site);
  }
  void check_lanes(const Warp& warp, const WarpRequest& request);
  void check_alike(const Warp& warp, const WarpRequest& request, int other);
  void complete(Warp& warp, const WarpRequest& request);

  Options options_;
  KernelCall call_ = {};
  CallSite launched_at_;
  int count_ = 0;  ///< threads of a block
  int alive_ = 0;
  Thread* current_ = nullptr;
  PositionSet runnable_;
  std::vector<Thread> threads_;
  std::array<int, kMost_threads> order_ = {};  ///< thread numbers
  std::array<Warp, kMost_warps> warps_;
  Barrier barrier_;
  std::array<NamedBarrier, kNamed_barriers> named_barriers_;
  SharedMemory shared_;
  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_fibers_;
  std::vector<Fiber*> used_fibers_;  ///< of this block, kept apart for ThreadSanitizer
  std::exception_ptr failure_;
  char block_begins_ = 0;  ///< for acquire() and release()
  char thread_ends_ = 0;
};

}  // namespace athanor::cuda::emulation
