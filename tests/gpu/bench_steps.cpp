// SPDX-License-Identifier: GPL-3.0-or-later

/// Whole training steps of a model on a card: tokens a second, launched one by one and recorded,
/// and the bytes that were planned, allocated and taken. What does not fit is made to, by keeping
/// less and then by smaller batches.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "engine/backend/cuda/nvml.h"
#include "engine/base/clock.h"
#include "engine/base/philox.h"
#include "engine/model/recompute.h"
#include "engine/train/train_memory.h"
#include "tests/bench/model_file.h"
#include "tests/gpu/card.h"
#include "tests/gpu/peer_library.h"

namespace {

using namespace athanor;

constexpr double kGibibyte = 1 << 30;

struct Fitting {
  TrainConfig train;
  TrainPlan plan;
};

/// The first way to train that fits: levels of recomputing in order, then half the micro-batch.
std::optional<Fitting> fit(const ModelConfig& model, const TrainConfig& wanted,
                           const BackendTraits& traits, std::int64_t bytes) {
  for (TrainConfig train = suited_to(traits, wanted); train.micro_batch > 0;
       train.micro_batch /= 2) {
    for (train.recompute_level = wanted.recompute_level; train.recompute_level < kDeviceKeepLevels;
         ++train.recompute_level) {
      TrainPlan plan = plan_training(model, train, traits);
      if (plan.memory.peak_bytes <= bytes) return Fitting{train, std::move(plan)};
    }
  }
  return std::nullopt;
}

/// Weights as a new run has them, but from few random numbers: making a billion takes minutes.
void set_weights(TrainMemory& memory) {
  const Philox random(1, 0);
  std::vector<float> normal(1 << 18);
  for (std::size_t i = 0; i < normal.size(); ++i)
    normal[i] = random.normal(i);
  const auto& all = memory.parameters().all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<float> values(static_cast<std::size_t>(all[i].shape.elements()),
                              all[i].start == Parameter::Start::ones ? 1.0F : 0.0F);
    if (all[i].start == Parameter::Start::normal) {
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>(all[i].deviation) * normal[(k + 77 * i) % normal.size()];
    }
    memory.set_weights(static_cast<int>(i), values);
  }
  for (const Tensor& moments : memory.optimizer().flat())
    memory.clear(moments);
}

std::vector<std::int32_t> random_ids(std::int64_t count, std::int64_t below) {
  const Philox random(2, 0);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(random.word(i) % static_cast<std::uint64_t>(below));
  return ids;
}

/// Steps as Trainer takes them, without its files.
class Steps {
 public:
  Steps(const ModelConfig& model, const TrainConfig& train, Backend& backend, TrainMemory& memory)
      : train_(train),
        backend_(backend),
        memory_(memory),
        ids_(random_ids(memory.batch.tokens.elements(), model.vocabulary)),
        losses_(static_cast<std::size_t>(memory.losses.bytes())) {
    backend_.tune(true);
    memory_.train_micro_batch(0, 0, true);
    backend_.tune(false);
    set_weights(memory_);
    backend_.zero(memory_.batch.document_starts);
  }

  void record() { memory_.record_micro_batches(); }

  double seconds() {
    const Stopwatch watch;
    const double scale = 1.0 / static_cast<double>(ids_.size() * train_.gradient_accumulation);
    for (std::int64_t micro = 0; micro < train_.gradient_accumulation; ++micro) {
      backend_.upload(memory_.batch.tokens, std::as_bytes(std::span(ids_)));
      backend_.upload(memory_.batch.targets, std::as_bytes(std::span(ids_)));
      memory_.train_micro_batch(scale, static_cast<std::uint64_t>(micro), micro == 0);
      backend_.download(losses_, memory_.losses);
    }
    const double norm = memory_.update(1e-4, ++step_);
    if (!std::isfinite(norm))
      throw Error(ErrorKind::non_finite, "A gradient was no longer a number.");
    backend_.wait();
    return watch.seconds();
  }

 private:
  const TrainConfig& train_;
  Backend& backend_;
  TrainMemory& memory_;
  std::vector<std::int32_t> ids_;
  std::vector<std::byte> losses_;
  std::int64_t step_ = 0;
};

/// Bytes that are taken of the card now, by whomever; 0 when it cannot be told.
std::int64_t taken_bytes(const Device& device) {
  const LoadedPeer loaded = load_card_peer();
  if (loaded.peer == nullptr) return 0;
  const PeerMemory memory = loaded.peer->memory(card_index(device));
  return memory.total_bytes - memory.free_bytes;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// 6 for each parameter, and attention's products over the visible half of the sequence.
double flops_per_token(const ModelConfig& model, std::int64_t parameters) {
  return 6.0 * static_cast<double>(parameters) +
         6.0 * static_cast<double>(model.layers * model.context *
                                   model.attention_shape(model.context).query_width());
}

void print(const Json& results) {
  const auto gibibytes = [&](const char* field) {
    return results.at(field).get<double>() / kGibibyte;
  };
  fmt::print(
      "{}: {:.0f} tokens/s, {:.0f} before recording, {:.1f} TFLOP/s; micro-batch {}, {} of them a "
      "step, recompute level {}\n"
      "  bytes: planned {:.3f} GiB, allocated {:.3f} GiB, taken of the card {:.3f} GiB more than "
      "before, {:.3f} GiB of it by recording\n",
      results.at("title").get<std::string>(), results.at("tokens_per_second").get<double>(),
      results.at("launched_tokens_per_second").get<double>(),
      results.at("tokens_per_second").get<double>() * results.at("flops_per_token").get<double>() *
          1e-12,
      results.at("train").at("micro_batch").get<int>(),
      results.at("train").at("gradient_accumulation").get<int>(),
      results.at("train").at("recompute_level").get<int>(), gibibytes("planned_bytes"),
      gibibytes("allocated_bytes"), gibibytes("taken_bytes"), gibibytes("recording_bytes"));
  if (const Json& fp8 = results.at("fp8"); fp8.is_object()) {
    fmt::print("  in FP8: {:.0f} tokens/s; planned {:.3f} GiB, allocated {:.3f} GiB {}\n",
               fp8.at("tokens_per_second").get<double>(),
               fp8.at("planned_bytes").get<double>() / kGibibyte,
               fp8.at("allocated_bytes").get<double>() / kGibibyte,
               fp8.at("notice").get<std::string>());
  }
  if (!results.at("notice").get<std::string>().empty())
    fmt::print("  {}\n", results.at("notice").get<std::string>());
}

/// The same run with its blocks' products in FP8; null where the card has none or too little
/// memory.
Json measure_fp8(const Device& device, const ModelConfig& model, TrainConfig train,
                 Backend& backend, std::int64_t steps) {
  if (!backend.traits().fp8) return nullptr;
  train.products = Products::fp8;
  const TrainPlan plan = plan_training(model, train, backend.traits());
  if (plan.memory.peak_bytes > available_bytes(device)) return nullptr;
  TrainArenas arenas(plan, backend, std::filesystem::temp_directory_path());
  TrainMemory memory(model, train, backend, arenas);
  Steps step(model, train, backend, memory);
  step.record();
  static_cast<void>(step.seconds());
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < steps; ++i)
    seconds.push_back(step.seconds());
  const auto tokens = static_cast<double>(train.tokens_per_step(model.context));
  return {{"tokens_per_second", tokens / median(seconds)},
          {"planned_bytes", plan.memory.peak_bytes},
          {"allocated_bytes", arenas.device.allocated_bytes()},
          {"notice", backend.take_notice()}};
}

int measure(const Device& device, const RunSpec& spec, const CardOptions& options,
            std::int64_t steps) {
  const std::unique_ptr<Backend> backend = make_backend({.device = device.id});
  backend->wait();
  const std::optional<Fitting> fitting =
      fit(spec.model, spec.train, backend->traits(), available_bytes(device));
  if (!fitting) {
    fmt::print("not run on a card: {} does not fit in {:.1f} GiB\n", spec.name,
               static_cast<double>(available_bytes(device)) / kGibibyte);
    return kNot_run;
  }
  const auto& [train, plan] = *fitting;
  // Before the other, so that only one of them is in memory.
  const Json fp8 = measure_fp8(device, spec.model, train, *backend, steps);
  const std::int64_t before = taken_bytes(device);
  TrainArenas arenas(plan, *backend, std::filesystem::temp_directory_path());
  TrainMemory memory(spec.model, train, *backend, arenas);
  Steps step(spec.model, train, *backend, memory);
  static_cast<void>(step.seconds());
  const double launched_seconds = step.seconds();
  const std::int64_t before_recording = taken_bytes(device);
  step.record();
  static_cast<void>(step.seconds());
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < steps; ++i)
    seconds.push_back(step.seconds());
  const auto tokens = static_cast<double>(train.tokens_per_step(spec.model.context));
  const double rate = tokens / median(seconds);
  const CardReading reading = nvml().read(device.uuid);
  const Json results = {
      {"title", spec.name},
      {"parameters", plan.parameters},
      {"model", settings_to_json(spec.model)},
      {"train", settings_to_json(train)},
      {"step_seconds", seconds},
      {"tokens_per_second", rate},
      {"launched_tokens_per_second", tokens / launched_seconds},
      {"fp8", fp8},
      {"recording_bytes", taken_bytes(device) - before_recording},
      {"flops_per_token", flops_per_token(spec.model, plan.parameters)},
      {"planned_bytes", plan.memory.peak_bytes},
      {"allocated_bytes", arenas.device.allocated_bytes()},
      {"taken_bytes", taken_bytes(device) - before},
      {"process_bytes", reading.own_bytes.value_or(0)},
      {"power_w", reading.power_w.value_or(0)},
      {"temperature_c", reading.temperature_c.value_or(0)},
      {"notice", backend->take_notice()},
  };
  print(results);
  write_results(options.json, results);
  const bool as_planned =
      plan.memory.peak_bytes == arenas.device.allocated_bytes() &&
      (!fp8.is_object() || fp8.at("planned_bytes") == fp8.at("allocated_bytes"));
  return as_planned ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times training steps on a card");
  CardOptions options;
  std::string models;
  std::string model;
  std::int64_t steps = 5;
  app.add_option("--device", options.device, "cuda:0 and so on");
  app.add_option("--json", options.json);
  app.add_option("--models", models, "models.json")->required();
  app.add_option("--model", model, "Its id there")->required();
  app.add_option("--steps", steps)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  return run_on_card(options, [&](const Device& device) {
    return measure(device, model_in_file(models, model), options, steps);
  });
}
