// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/tensor/arena.h"
#include "tests/engine/backend/operation_tensors.h"

namespace athanor {

/// One row of the table that serves comparison, gradient check, support report and benchmark.
struct OperationCase {
  std::string name;
  Operation operation = Operation::linear;
  std::int64_t head_dim = 0;  ///< 0 where there are no heads
  /// By how much the outputs magnify relative errors inside: exponentials of scores near 80
  /// have 80.
  double gain = 1;
  /// Makes the arguments in double precision, with seeded random inputs; what a backward operation
  /// reads of its forward direction is computed by the reference.
  std::function<AnyOperation(Arena&)> build;
};

/// Memory that is enough for any case of the table, in all the copies a test makes.
inline constexpr std::int64_t kCase_arena_bytes = std::int64_t{512} << 20;

/// Every operation in the shapes that tests go through: small, odd and extreme.
std::vector<OperationCase> operation_cases();

/// The shapes of one small training step, for measuring speed.
std::vector<OperationCase> benchmark_cases();

}  // namespace athanor
