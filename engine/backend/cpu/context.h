// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/base/thread_pool.h"
#include "engine/tensor/buffer.h"

namespace athanor::cpu {

/// What kernels work with beside their arguments: the workers, and scratch made once at
/// construction.
class Context {
 public:
  /// Room for the packed right-hand side of a product, shared by all threads.
  static constexpr std::int64_t kPackFloats = std::int64_t{2} << 20;
  /// Room that one running task has for itself.
  static constexpr std::int64_t kTaskFloats = std::int64_t{96} << 10;

  explicit Context(int threads);

  ThreadPool& pool() { return pool_; }
  float* pack() const { return reinterpret_cast<float*>(pack_.data()); }

  /// A task's scratch of kTaskFloats floats; given back when it goes out of scope.
  class TaskScratch {
   public:
    explicit TaskScratch(Context& context);
    ~TaskScratch();
    TaskScratch(const TaskScratch&) = delete;
    TaskScratch& operator=(const TaskScratch&) = delete;
    float* data() const;

   private:
    Context& context_;
    int slot_;
  };

 private:
  int take_slot();

  ThreadPool pool_;
  Buffer pack_;
  Buffer task_scratch_;
  std::unique_ptr<std::atomic<bool>[]> taken_;
};

/// Calls body(row) for each row, some next to each other as one task.
template <class Body>
void for_each_row(Context& context, std::int64_t rows, const Body& body) {
  constexpr std::int64_t kRows = 32;
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row)
      body(row);
  });
}

}  // namespace athanor::cpu
