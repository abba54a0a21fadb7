// SPDX-License-Identifier: GPL-3.0-or-later

/// Matrix products of the training step at the sizes of the presets, each beside the multiply-add
/// peak that the same threads reach at that moment (and oneDNN's product, where it is installed).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/backend/cpu/gemm.h"
#include "tests/bench/fma_probe.h"

#ifdef ATHANOR_HAVE_ONEDNN
#include <dnnl.h>
#endif

namespace athanor {
namespace {

struct Size {
  const char* model;
  const char* layer;
  std::int64_t tokens;
  std::int64_t in;
  std::int64_t out;
};

constexpr Size kSizes[] = {
    {"nano", "qkv", 2048, 128, 256},
    {"nano", "attention out", 2048, 128, 128},
    {"nano", "gate and up", 2048, 128, 768},
    {"nano", "down", 2048, 384, 128},
    {"nano", "head", 256, 128, 2048},
    {"small", "qkv", 2048, 384, 768},
    {"small", "attention out", 2048, 384, 384},
    {"small", "gate and up", 2048, 384, 2048},
    {"small", "down", 2048, 1024, 384},
    {"small", "head", 256, 384, 4096},
    {"gpt2", "gate and up", 2048, 768, 4096},
    {"gpt2", "head", 256, 768, 50304},
};

enum class Direction { forward, d_x, d_weight };
constexpr const char* kDirections[] = {"forward", "dx", "dW"};

struct Operands {
  std::vector<float> x;
  std::vector<float> weight;
  std::vector<float> y;

  explicit Operands(const Size& size)
      : x(static_cast<std::size_t>(size.tokens * size.in), 0.5F),
        weight(static_cast<std::size_t>(size.in * size.out), 0.25F),
        y(static_cast<std::size_t>(size.tokens * size.out), 0.0F) {}
};

cpu::Product product_of(const Size& size, Direction direction, Operands& o) {
  const cpu::Operand x{o.x.data(), size.in};
  const cpu::Operand y{o.y.data(), size.out};
  const cpu::Operand weight{o.weight.data(), size.in};
  switch (direction) {
    case Direction::forward:
      return {.rows = size.tokens,
              .columns = size.out,
              .depth = size.in,
              .a = x,
              .b = {weight.data, size.in, true},
              .c = o.y.data(),
              .c_stride = size.out};
    case Direction::d_x:
      return {.rows = size.tokens,
              .columns = size.in,
              .depth = size.out,
              .a = y,
              .b = weight,
              .c = o.x.data(),
              .c_stride = size.in};
    case Direction::d_weight:
      break;
  }
  return {.rows = size.out,
          .columns = size.in,
          .depth = size.tokens,
          .a = {y.data, size.out, true},
          .b = x,
          .c = o.weight.data(),
          .c_stride = size.in,
          .accumulate = true};
}

/// Reports GFLOP/s and the share of the probe, which runs before and after.
template <class Run>
void measure(benchmark::State& state, const cpu::Product& product, ThreadPool& pool,
             const Run& run) {
  const double peak_before = fma_peak_gflops(pool);
  for (auto _ : state)
    run();
  const double peak = std::max(peak_before, fma_peak_gflops(pool));
  const double operations = 2e-9 * static_cast<double>(product.rows * product.columns) *
                            static_cast<double>(product.depth * state.iterations());
  using Counter = benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(operations, Counter::kIsRate);
  state.counters["share"] = Counter(operations / peak, Counter::kIsRate);
  state.counters["peak"] = peak;
}

void own_product(benchmark::State& state, const Size& size, Direction direction, int threads) {
  cpu::Context context(threads);
  Operands operands(size);
  const cpu::Product product = product_of(size, direction, operands);
  measure(state, product, context.pool(), [&] { cpu::multiply(context, product); });
}

#ifdef ATHANOR_HAVE_ONEDNN
/// oneDNN takes its threads from OMP_NUM_THREADS: compare runs with as many.
void onednn_product(benchmark::State& state, const Size& size, Direction direction) {
  ThreadPool pool(1);
  Operands operands(size);
  const cpu::Product p = product_of(size, direction, operands);
  measure(state, p, pool, [&] {
    dnnl_sgemm(p.a.transposed ? 'T' : 'N', p.b.transposed ? 'T' : 'N', p.rows, p.columns, p.depth,
               1.0F, p.a.data.as<float>(), p.a.stride, p.b.data.as<float>(), p.b.stride,
               p.accumulate ? 1.0F : 0.0F, p.c.as<float>(), p.c_stride);
  });
}
#endif

void register_all() {
  for (const Size& size : kSizes) {
    for (const Direction direction : {Direction::forward, Direction::d_x, Direction::d_weight}) {
      const std::string name = std::string(size.model) + "/" + size.layer + "/" +
                               kDirections[static_cast<int>(direction)];
      for (int threads = 1; threads <= std::min(2, ThreadPool::default_threads()); ++threads) {
        benchmark::RegisterBenchmark(
            (name + "/threads:" + std::to_string(threads)).c_str(),
            [=](benchmark::State& state) { own_product(state, size, direction, threads); })
            ->UseRealTime();
      }
#ifdef ATHANOR_HAVE_ONEDNN
      benchmark::RegisterBenchmark((name + "/onednn").c_str(), [=](benchmark::State& state) {
        onednn_product(state, size, direction);
      })->UseRealTime();
#endif
    }
  }
}

}  // namespace
}  // namespace athanor

int main(int argc, char** argv) {
  athanor::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
