// SPDX-License-Identifier: GPL-3.0-or-later

/// Tokens a second that a model of a preset's shape writes, by how its weights are kept, beside the
/// floor: the bytes of all weights that one token needs over what the machine's memory delivers at
/// that moment. Models that stay in the processor's caches may go below it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/backend/plan/plan_backend.h"
#include "engine/backend/registry.h"
#include "engine/base/clock.h"
#include "engine/base/philox.h"
#include "engine/base/thread_pool.h"
#include "engine/io/weight_source.h"
#include "engine/model/loaded_weights.h"
#include "engine/model/transformer.h"
#include "engine/session/run_spec.h"
#include "engine/tensor/bf16.h"
#include "tests/bench/read_probe.h"

namespace athanor {
namespace {

constexpr std::int64_t kPosition = 64;

struct Way {
  const char* name;
  DType saved;
  WeightFormat format;
};
constexpr Way kWays[] = {{"f32", DType::f32, WeightFormat::as_saved},
                         {"bf16", DType::bf16, WeightFormat::as_saved},
                         {"q8_0", DType::bf16, WeightFormat::q8_0},
                         {"q4_0", DType::bf16, WeightFormat::q4_0}};

/// Seconds since it was made, or of the processor's time: beside busy neighbours, that of one
/// thread says more.
class Timer {
 public:
  explicit Timer(bool of_processor) : of_processor_(of_processor), start_(std::clock()) {}
  double seconds() const {
    return of_processor_ ? static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC
                         : watch_.seconds();
  }

 private:
  bool of_processor_;
  std::clock_t start_;
  Stopwatch watch_;
};

/// Bytes a second that all threads read at once from more memory than private caches hold.
double read_bandwidth(ThreadPool& pool, bool processor_time) {
  constexpr std::int64_t kWords = std::int64_t{1} << 26;
  // In huge pages, as the model's arena.
  static const Buffer buffer = [] {
    Buffer made(kWords * static_cast<std::int64_t>(sizeof(std::uint64_t)));
    std::ranges::fill(made.span(), std::byte{1});
    return made;
  }();
  const auto* words = reinterpret_cast<const std::uint64_t*>(buffer.data());
  constexpr std::int64_t kTask = std::int64_t{1} << 18;
  std::vector<std::uint64_t> parts(kWords / kTask);
  const Timer watch(processor_time);
  pool.parallel_for(std::ssize(parts), [&](std::int64_t task) {
    parts[static_cast<std::size_t>(task)] = read_all(words + task * kTask, kTask);
  });
  const double seconds = watch.seconds();
  const bool right = std::all_of(parts.begin(), parts.end(), [](auto part) { return part == 0; });
  return right ? static_cast<double>(buffer.bytes()) / seconds : 0;
}

std::filesystem::path save_random(const ModelConfig& model, DType type) {
  const ParameterTable table(model);
  std::vector<float> numbers(static_cast<std::size_t>(table.flat_elements()));
  const Philox random(1, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 0.06F * (random.uniform(i) - 0.5F);
  std::vector<Bf16> halves(type == DType::bf16 ? numbers.size() : 0);
  std::transform(numbers.begin(), numbers.begin() + std::ssize(halves), halves.begin(),
                 nearest_bf16);
  void* data = type == DType::bf16 ? static_cast<void*>(halves.data()) : numbers.data();
  const Tensor flat{static_cast<std::byte*>(data), type, {table.flat_elements()}};
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < table.all().size(); ++i)
    tensors.push_back({table.all()[i].name, table.view(flat, static_cast<int>(i))});
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "athanor-bench-chat.safetensors";
  write_safetensors(path, tensors);
  return path;
}

/// What one token reads of the weights: all but the embedding's other rows.
double bytes_of(const ParameterTable& table, const ModelWeights& weights) {
  double bytes = 0;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    if (static_cast<int>(i) == table.embedding() && table.embedding() != table.head()) continue;
    const PlacedParameter& place = weights.placed[i];
    bytes +=
        static_cast<double>(place.numbers.present() ? place.numbers.bytes() : place.blocks.bytes());
  }
  return bytes;
}

/// A model that has read kPosition tokens.
class Writer {
 public:
  Writer(const ModelConfig& model, const Way& way, Backend& backend, Arena& arena)
      : transformer(model, backend, arena, 2 * kPosition, backend.compute_type()),
        weights(transformer.parameters(), way.format, way.saved, arena),
        tokens_(arena.take(MemoryRole::batch, DType::i32, {kPosition})),
        logits_(arena.take(MemoryRole::logits, backend.compute_type(), {model.vocabulary})),
        cache_(transformer.take_cache(2 * kPosition, arena)),
        arena_(arena) {}

  void read(std::int64_t count, std::int64_t position) {
    transformer.decode(tokens_.slice_rows(0, count), position, weights.view(), cache_, logits_,
                       arena_);
  }

  Transformer transformer;
  LoadedWeights weights;

 private:
  Tensor tokens_;
  Tensor logits_;
  Transformer::KeyValueCache cache_;
  Arena& arena_;
};

void measure(const std::string& name, const ModelConfig& model, const Way& way, Backend& backend,
             ThreadPool& pool, bool processor_time) {
  Arena dry;
  PlanBackend plan(backend.traits());
  Writer(model, way, plan, dry).read(kPosition, 0);
  Arena arena(dry.plan().peak_bytes);
  Writer writer(model, way, backend, arena);
  const std::filesystem::path path = save_random(model, way.saved);
  const SafetensorsFile saved = SafetensorsFile::open(path);
  writer.weights.load(CheckpointWeights(saved, writer.transformer.parameters().all()), backend);
  std::filesystem::remove(path);

  const Timer reading(processor_time);
  writer.read(kPosition, 0);
  const double prompt_seconds = reading.seconds();
  // Neighbours come and go: the best of some rounds, each beside its own measure of the memory.
  constexpr int kRounds = 9;
  constexpr int kTokens = 8;
  double best = 0;
  double bandwidth = 0;
  for (int round = 0; round < kRounds; ++round) {
    bandwidth = std::max(bandwidth, read_bandwidth(pool, processor_time));
    const Timer watch(processor_time);
    for (int i = 0; i < kTokens; ++i)
      writer.read(1, kPosition + i);
    best = std::max(best, kTokens / watch.seconds());
  }
  const double bytes = bytes_of(writer.transformer.parameters(), writer.weights.view());
  std::printf(
      "%-14s %-5s %8.1f MB %10.1f tokens/s %8.1f GB/s of %5.1f, %4.0f %% of the floor; "
      "prompt %7.0f tokens/s\n",
      name.c_str(), way.name, bytes * 1e-6, best, best * bytes * 1e-9, bandwidth * 1e-9,
      100 * best * bytes / bandwidth, static_cast<double>(kPosition) / prompt_seconds);
  std::fflush(stdout);
}

}  // namespace
}  // namespace athanor

int main(int argc, char** argv) {
  using namespace athanor;
  CLI::App app("Writing speed by how weights are kept");
  std::vector<std::string> names = {"nano", "small", "tinygpt2", "smollm2-135m"};
  int threads = 0;
  bool processor_time = false;
  app.add_option("--presets", names)->delimiter(',');
  app.add_option("--threads", threads);
  app.add_flag("--processor-time", processor_time, "Seconds of the processor; with one thread");
  CLI11_PARSE(app, argc, argv);
  const auto backend = make_backend({.threads = threads, .device = "cpu"});
  ThreadPool pool(backend->device().threads);
  for (const std::string& name : names)
    for (const Way& way : kWays)
      measure(name, preset(name).spec.model, way, *backend, pool, processor_time);
  return 0;
}
