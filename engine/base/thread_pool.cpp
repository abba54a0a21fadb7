// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/thread_pool.h"

#include <sched.h>

#include <algorithm>

namespace athanor {

namespace {
// Kernels follow each other within microseconds; spinning this long avoids a sleep between most.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

int ThreadPool::default_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  const int count = threads > 0 ? threads : default_threads();
  workers_.reserve(static_cast<std::size_t>(count) - 1);
  for (int i = 1; i < count; ++i)
    workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    published_.store(++generation_, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

void ThreadPool::drain() {
  for (std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed); task < tasks_;
       task = next_.fetch_add(1, std::memory_order_relaxed)) {
    task_(context_, task);
  }
}

void ThreadPool::run(std::int64_t tasks, Task task, const void* context) {
  if (workers_.empty() || tasks <= 1) {
    for (std::int64_t i = 0; i < tasks; ++i)
      task(context, i);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    task_ = task;
    context_ = context;
    tasks_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    active_ = static_cast<int>(workers_.size());
    published_.store(++generation_, std::memory_order_release);
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return active_ == 0; });
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && published_.load(std::memory_order_acquire) == seen;
         ++spin) {
      relax();
    }
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (stopping_) return;
    }
    drain();
    // Notified under the lock: run() may return, and the pool be destroyed, the moment it is
    // released.
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) done_.notify_one();
  }
}

}  // namespace athanor
