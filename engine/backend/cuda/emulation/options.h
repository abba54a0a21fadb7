// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>

namespace athanor::cuda::emulation {

/// In which order the threads of a block run where the kernel leaves it open. One that waits gives
/// way to the next of the order; after a barrier the order's first goes on.
enum class ThreadOrder { forward, reverse, random };

struct Options {
  ThreadOrder order = ThreadOrder::forward;
  std::uint64_t seed = 0;  ///< of the random order, which is another in each block
  /// Static and dynamic together, of a block; what cards of compute capability 8.9 and 12.0 have.
  std::size_t shared_limit_bytes = 99 * 1024;
};

/// What the launches that begin now use, on whatever host thread.
Options options();

/// Launches of the whole program use `wanted` until it goes out of scope.
class ThreadOrderScope {
 public:
  explicit ThreadOrderScope(const Options& wanted);
  explicit ThreadOrderScope(ThreadOrder order, std::uint64_t seed = 0);
  ~ThreadOrderScope();
  ThreadOrderScope(const ThreadOrderScope&) = delete;
  ThreadOrderScope& operator=(const ThreadOrderScope&) = delete;

 private:
  Options before_;
};

}  // namespace athanor::cuda::emulation
