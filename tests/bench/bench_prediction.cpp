// SPDX-License-Identifier: GPL-3.0-or-later
// Predicted against measured: tokens/s and resident memory of training steps, one line for each
// configuration, each in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "engine/backend/registry.h"
#include "engine/base/clock.h"
#include "engine/base/machine.h"
#include "engine/planner/throughput.h"
#include "engine/session/run_spec.h"

namespace {

using namespace athanor;

struct Configuration {
  const char* preset;
  std::int64_t micro_batch;  ///< 0: the preset's
  std::int64_t recompute_level;
};

constexpr Configuration kConfigurations[] = {
    {"spark", 0, 0}, {"spark", 4, 0},    {"spark", 32, 0},   {"spark", 0, 6},    {"nano", 0, 0},
    {"nano", 4, 0},  {"nano", 0, 3},     {"nano", 0, 6},     {"small", 2, 0},    {"small", 2, 2},
    {"small", 4, 6}, {"tinygpt2", 1, 0}, {"tinygpt2", 2, 0}, {"tinygpt2", 2, 4},
};

double step_seconds(TrainMemory& memory, double rate) {
  const Stopwatch watch;
  memory.train_micro_batch(1, 0, true);
  memory.update(rate, 1);
  return watch.seconds();
}

/// A step of next to nothing: brings in what a process has whatever it trains, such as the kernels'
/// own pages.
void warm_up(Backend& backend) {
  const ModelConfig model{.vocabulary = 300,
                          .layers = 1,
                          .width = 32,
                          .heads = 2,
                          .kv_heads = 1,
                          .ffn = 32,
                          .context = 16};
  const TrainConfig train{.micro_batch = 1};
  TrainArenas arenas(plan_training(model, train, BackendTraits()), backend,
                     std::filesystem::temp_directory_path());
  TrainMemory memory(model, train, backend, arenas);
  step_seconds(memory, 0);
  memory.evaluate();
}

void run(const Configuration& at, const DeviceSpeed& speed, int threads) {
  RunSpec spec = preset(at.preset).spec;
  if (at.micro_batch > 0) spec.train.micro_batch = at.micro_batch;
  spec.train.gradient_accumulation = 1;
  spec.train.recompute_level = at.recompute_level;
  const TrainPlan plan = plan_training(spec.model, spec.train, BackendTraits());
  const Throughput predicted = predict_throughput(plan, spec.model, spec.train, speed);
  const auto backend = make_backend({.threads = threads});
  warm_up(*backend);
  const std::int64_t resident_before = resident_bytes();
  TrainArenas arenas(plan, *backend, std::filesystem::temp_directory_path());
  TrainMemory memory(spec.model, spec.train, *backend, arenas);
  for (const Tensor& tensor :
       {memory.weights, memory.batch.tokens, memory.batch.targets, memory.batch.document_starts}) {
    backend->zero(tensor);
  }
  for (const Tensor& moments : memory.optimizer().flat())
    backend->zero(moments);
  // Touches every page and the whole step once, outside the timing.
  step_seconds(memory, 1e-3);
  memory.evaluate();
  std::vector<double> seconds;
  const Stopwatch watch;
  while (seconds.size() < 3 || (seconds.size() < 40 && watch.seconds() < 3))
    seconds.push_back(step_seconds(memory, 1e-3));
  std::sort(seconds.begin(), seconds.end());
  const double measured = static_cast<double>(spec.train.tokens_per_step(spec.model.context)) /
                          seconds[seconds.size() / 2];
  const auto taken = static_cast<double>(peak_resident_bytes() - resident_before);
  std::printf("%-9s %5lld  S%lld %10.0f %10.0f %+6.1f %% %10.1f %10.1f %+6.1f %%\n", at.preset,
              static_cast<long long>(spec.train.micro_batch),
              static_cast<long long>(at.recompute_level), predicted.tokens_per_second, measured,
              100 * (predicted.tokens_per_second / measured - 1),
              static_cast<double>(plan.memory.peak_bytes) / (1 << 20), taken / (1 << 20),
              100 * (static_cast<double>(plan.memory.peak_bytes) / taken - 1));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Predicted against measured speed and memory");
  int threads = 0;
  bool samples = false;
  app.add_option("--threads", threads);
  app.add_flag("--samples", samples, "Print the device's measured rates too");
  CLI11_PARSE(app, argc, argv);
  const Stopwatch watch;
  const auto backend = make_backend({.threads = threads});
  const DeviceSpeed speed =
      measure_device(*backend, std::filesystem::temp_directory_path(), CancelToken());
  std::printf("%s, %s: measured in %.1f s\n", speed.device().name.c_str(),
              speed.device().detail.c_str(), watch.seconds());
  if (samples) {
    for (const DeviceSpeed::Sample& sample : speed.samples()) {
      std::printf(
          "  %-24s %10.0f %8.2f G/s\n",
          std::string(names_of(Operation{})[static_cast<std::size_t>(sample.operation)]).c_str(),
          sample.size, sample.per_second * 1e-9);
    }
  }
  std::printf("preset    batch level predicted  measured tokens/s    planned   resident MiB\n");
  std::fflush(stdout);
  for (const Configuration& at : kConfigurations) {
    const pid_t child = ::fork();
    if (child == 0) {
      run(at, speed, threads);
      std::fflush(stdout);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
  return 0;
}
