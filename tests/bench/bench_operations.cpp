// SPDX-License-Identifier: GPL-3.0-or-later

/// Every operation of the training step, from the table that also checks their results. Each row
/// shows GFLOP/s and GB/s by the dry run's counts, and `of_floor`: the least time the machine would
/// need, at the multiply-add rate and memory rate measured at the start, as a share of the time
/// taken. Above one means that the operands stayed in the caches.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "engine/backend/plan/plan_backend.h"
#include "engine/backend/registry.h"
#include "engine/base/clock.h"
#include "engine/base/thread_pool.h"
#include "tests/bench/fma_probe.h"
#include "tests/engine/backend/case_instance.h"

namespace athanor {
namespace {

struct Machine {
  double flops_per_second = 0;
  double bytes_per_second = 0;
};

/// Bytes read and written per second by all threads copying more than any cache holds.
double measure_memory_rate(ThreadPool& pool) {
  constexpr std::int64_t kTask_bytes = std::int64_t{16} << 20;
  constexpr std::int64_t kTasks = 8;
  constexpr int kRepeats = 5;
  const Buffer from(kTask_bytes * kTasks);
  const Buffer to(kTask_bytes * kTasks);
  // Pages that were never written are all the same one.
  std::memset(from.data(), 1, static_cast<std::size_t>(from.bytes()));
  double best_seconds = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const Stopwatch watch;
    pool.parallel_for(kTasks, [&](std::int64_t task) {
      std::memcpy(to.data() + task * kTask_bytes, from.data() + task * kTask_bytes, kTask_bytes);
    });
    best_seconds = std::min(best_seconds, watch.seconds());
  }
  return 2.0 * static_cast<double>(from.bytes()) / best_seconds;
}

Machine measure_machine() {
  ThreadPool pool;
  return {fma_peak_gflops(pool) * 1e9, measure_memory_rate(pool)};
}

OperationCost count_cost(AnyOperation operation, Operation kind) {
  PlanBackend plan;
  execute(plan, operation);
  return plan.cost(kind);
}

void measure(benchmark::State& state, const std::string& backend_name, const OperationCase& row,
             const RealTypes& types, const Machine& machine) {
  const std::unique_ptr<Backend> backend = make_backend({.device = backend_name});
  Arena arena(kCase_arena_bytes);
  AnyOperation operation = copy_operation(row.build(arena), arena, types);
  const OperationCost cost = count_cost(operation, row.operation);
  const Stopwatch watch;
  for (auto round : state)
    execute(*backend, operation);
  const double seconds = watch.seconds() / static_cast<double>(state.iterations());
  const double floor_seconds =
      std::max(cost.flops / machine.flops_per_second, cost.bytes / machine.bytes_per_second);
  state.counters["GFLOP/s"] = cost.flops / seconds / 1e9;
  state.counters["GB/s"] = cost.bytes / seconds / 1e9;
  state.counters["of_floor"] = floor_seconds / seconds;
}

}  // namespace
}  // namespace athanor

int main(int argc, char** argv) {
  using namespace athanor;
  benchmark::Initialize(&argc, argv);
  const Machine machine = measure_machine();
  const std::vector<OperationCase> cases = benchmark_cases();
  for (const std::string& backend : find_devices().usable_ids()) {
    for (const OperationCase& row : cases) {
      for (const DType type : {DType::f32, DType::bf16}) {
        const RealTypes types{type, type, type};
        const std::string name = backend + ": " + row.name + (type == DType::bf16 ? ", bf16" : "");
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&, backend, types](benchmark::State& state) {
                                       measure(state, backend, row, types, machine);
                                     })
            ->UseRealTime()
            ->MinTime(0.2);
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
