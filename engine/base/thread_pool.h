// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace athanor {

/// The process's workers for kernels. Work is split into a number of tasks that the caller fixes
/// from the problem alone, and each task writes its own outputs, so results do not depend on the
/// threads. One thread drives a pool at a time; parallel_for allocates nothing.
class ThreadPool {
 public:
  /// `threads` counts the calling thread; 0 takes default_threads().
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(task) for every task in [0, tasks), on all threads, and returns when all are done.
  /// `body` must not throw.
  template <class Body>
  void parallel_for(std::int64_t tasks, const Body& body) {
    run(
        tasks,
        [](const void* context, std::int64_t task) { (*static_cast<const Body*>(context))(task); },
        &body);
  }

  /// Cores this process may run on (its affinity mask).
  static int default_threads();

 private:
  using Task = void (*)(const void* context, std::int64_t task);
  void run(std::int64_t tasks, Task task, const void* context);
  void work();
  void drain();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::uint64_t generation_ = 0;
  bool stopping_ = false;
  int active_ = 0;
  Task task_ = nullptr;
  const void* context_ = nullptr;
  std::int64_t tasks_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint64_t> published_{0};
};

}  // namespace athanor
