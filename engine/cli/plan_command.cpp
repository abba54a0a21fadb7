// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "engine/backend/cuda/card_traits.h"
#include "engine/base/file.h"
#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/spec_options.h"
#include "engine/planner/buffer_table.h"
#include "engine/planner/cards.h"
#include "engine/planner/search.h"

namespace athanor {

namespace {

constexpr std::size_t kExplained_buffers = 12;

struct PlanOptions {
  SpecOptions spec;
  std::string budget;
  std::string card;
  std::string buffers_file;
  bool explain = false;
};

struct Planned {
  RunSpec spec;
  TrainPlan plan;
  std::int64_t budget_bytes = 0;
  std::int64_t drive_free_bytes = 0;  ///< where the run's folder will be
  DeviceInfo device;
  bool elsewhere = false;  ///< planned for a card by its maker's figures
  bool on_card = false;    ///< that one, or one of this machine
  Throughput speed;
  Proposals ways;
};

std::string bytes_text(std::int64_t bytes) {
  constexpr double kMib = 1 << 20;
  const auto size = static_cast<double>(bytes);
  return size < 1024 * kMib ? fmt::format("{:.1f} MiB", size / kMib)
                            : fmt::format("{:.2f} GiB", size / (1024 * kMib));
}

/// "8G", "512 MiB", "1.5GB": letters count powers of 1024. Throws invalid_argument.
std::int64_t bytes_as_typed(const std::string& text) {
  constexpr std::string_view kLetters = "KMGT";
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  std::erase(unit, ' ');
  for (char& letter : unit)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const std::size_t power = unit.empty() ? std::string::npos : kLetters.find(unit[0]);
  if (unit.ends_with("IB")) unit.resize(unit.size() - 2);
  if (unit.ends_with('B')) unit.resize(unit.size() - 1);
  const bool understood = unit.empty() || (unit.size() == 1 && power != std::string::npos);
  const double bytes =
      unit.empty() ? number : number * std::pow(1024, static_cast<double>(power) + 1);
  if (end == text.c_str() || !understood || !(bytes >= 1) || bytes > 1e18) {
    throw Error(
        ErrorKind::invalid_argument,
        "--budget must be an amount of memory such as 8GiB or 512MiB; it is \"" + text + "\".");
  }
  return static_cast<std::int64_t>(bytes);
}

DeviceSpeed speed_here(const GlobalOptions& global) {
  const auto backend = make_backend(global.backend());
  global.tell_unused_card();
  return kept_device_speed(global.home_folder(), *backend, CancelToken(), [&] {
    if (!global.json) print_note("Measuring this machine once; about a second …");
  });
}

Planned plan_as_typed(const PlanOptions& options, const GlobalOptions& global) {
  Planned planned{.spec = options.spec.spec(global), .elsewhere = !options.card.empty()};
  if (!options.budget.empty()) planned.budget_bytes = bytes_as_typed(options.budget);
  planned.drive_free_bytes = free_disk_bytes(global.home_folder());
  const ModelConfig& model = planned.spec.model;
  std::optional<GraphicsCard> card;
  if (planned.elsewhere) {
    card = find_card(known_cards(global.home_folder()), options.card);
    const std::int64_t usable = usable_bytes(*card);
    planned.budget_bytes = options.budget.empty() ? usable : std::min(usable, planned.budget_bytes);
  } else if (options.budget.empty()) {
    planned.budget_bytes = available_bytes(find_devices().usable(global.device));
  }
  planned.on_card = card || find_devices().usable(global.device).is_card();
  const BackendTraits traits = card ? cuda::card_traits(card->compute_capability)
                                    : find_devices().usable(global.device).traits();
  planned.spec.train = suited_to(traits, planned.spec.train);
  const TrainConfig& train = planned.spec.train;
  planned.plan = plan_training(model, train, traits);
  const DeviceSpeed speed = card ? speed_of(*card) : speed_here(global);
  planned.device = speed.device();
  planned.speed = predict_throughput(planned.plan, model, train, speed);
  planned.ways = search_plans(model, train, speed, planned.budget_bytes, traits);
  return planned;
}

Json proposal_json(const Proposal& way, const ModelConfig& model) {
  return {{"micro_batch", way.train.micro_batch},
          {"gradient_accumulation", way.train.gradient_accumulation},
          {"recompute_level", way.train.recompute_level},
          {"recompute_further_layers", way.train.recompute_further_layers},
          {"head_chunk_tokens", way.train.head_chunk_tokens},
          {"offload_moments", way.train.offload_moments},
          {"offload_master", way.train.offload_master},
          {"offload_gradients", way.train.offload_gradients},
          {"peak_bytes", way.peak_bytes},
          {"tokens_per_second", way.speed.tokens_per_second},
          {"description", describe(way, model)}};
}

void print_plan_json(const Planned& planned) {
  Json roles = Json::object();
  for (int i = 0; i < kMemoryRoles; ++i) {
    const auto role = static_cast<MemoryRole>(i);
    roles[std::string(name_of(role))] = planned.plan.memory.of(role);
  }
  const ModelConfig& model = planned.spec.model;
  Json ways = {{"leanest", proposal_json(planned.ways.leanest, model)}};
  if (planned.ways.fastest) {
    ways["fastest"] = proposal_json(*planned.ways.fastest, model);
    ways["balanced"] = proposal_json(*planned.ways.balanced, model);
  }
  print_json({{"parameters", planned.plan.parameters},
              {"peak_bytes", planned.plan.memory.peak_bytes},
              {"by_role", roles},
              {"host_bytes", planned.plan.host.peak_bytes},
              {"drive_free_bytes", planned.drive_free_bytes},
              {"budget_bytes", planned.budget_bytes},
              {"fits", planned.plan.memory.peak_bytes <= planned.budget_bytes},
              {"device", planned.device.name},
              {"estimate", planned.elsewhere},
              {"tokens_per_second", planned.speed.tokens_per_second},
              {"step_seconds", planned.speed.step_seconds},
              {"proposals", ways}});
}

void print_memory(const Planned& planned) {
  const Arena::Plan& memory = planned.plan.memory;
  const std::int64_t left = planned.budget_bytes - memory.peak_bytes;
  print_line(fmt::format("Memory: {} of {}: {}", bytes_text(memory.peak_bytes),
                         bytes_text(planned.budget_bytes),
                         left >= 0 ? "fits, " + bytes_text(left) + " left"
                                   : "does not fit, " + bytes_text(-left) + " too much"));
  for (int i = 0; i < kMemoryRoles; ++i) {
    const auto role = static_cast<MemoryRole>(i);
    if (memory.of(role) == 0) continue;
    print_line(fmt::format("  {:<12} {:>12}", name_of(role), bytes_text(memory.of(role))));
  }
}

void print_offloaded(const Planned& planned) {
  const std::int64_t host_bytes = planned.plan.host.peak_bytes;
  if (host_bytes == 0) return;
  std::vector<std::string> parts;
  for (const BufferGroup& part : groups_of(planned.plan.host_buffers))
    parts.push_back(part.name + " " + bytes_text(part.bytes));
  print_line(
      fmt::format("Offloaded: {} in {} ({})", bytes_text(host_bytes),
                  planned.on_card ? "the computer's own memory" : "a file of the run's folder",
                  fmt::join(parts, ", ")));
}

void warn_of_full_drive(const Planned& planned, const GlobalOptions& global) {
  const std::int64_t host_bytes = planned.plan.host.peak_bytes;
  if (planned.on_card || host_bytes <= planned.drive_free_bytes) return;
  print_note(fmt::format(
      "The drive of {} has {} free and {} are to be offloaded to it. Make room there, or offload "
      "less.",
      global.home_folder().string(), bytes_text(planned.drive_free_bytes), bytes_text(host_bytes)));
}

void print_ways(const Planned& planned) {
  const Proposals& ways = planned.ways;
  const auto line = [&](const char* name, const Proposal& way) {
    print_line(fmt::format("  {:<9} {:>10} tokens/s  {:>11}  {}", name,
                           grouped(std::llround(way.speed.tokens_per_second)),
                           bytes_text(way.peak_bytes), describe(way, planned.spec.model)));
  };
  if (!ways.fastest) {
    print_line(
        fmt::format("Nothing fits: at the least {} are needed, most of it for {}. A smaller "
                    "model or context needs less.",
                    bytes_text(ways.leanest.peak_bytes), name_of(ways.binding)));
    line("leanest", ways.leanest);
    return;
  }
  print_line("Ways to train the same steps within this memory:");
  line("fastest", *ways.fastest);
  line("balanced", *ways.balanced);
  line("leanest", ways.leanest);
}

/// What is alive at the peak, the largest first.
void explain_peak(const TrainPlan& plan) {
  std::vector<Arena::Record> alive = buffers_at(plan, plan.memory.peak_moment);
  std::stable_sort(alive.begin(), alive.end(),
                   [](const auto& a, const auto& b) { return a.size_bytes > b.size_bytes; });
  print_line(fmt::format("The peak is in the {} phase, with {} buffers alive; the largest:",
                         names_of(Phase{})[static_cast<std::size_t>(plan.memory.peak_phase)],
                         alive.size()));
  for (std::size_t i = 0; i < std::min(alive.size(), kExplained_buffers); ++i) {
    print_line(fmt::format("  {:>11}  {:<12} {}", bytes_text(alive[i].size_bytes),
                           name_of(alive[i].role), alive[i].name.text()));
  }
}

int show_plan(const PlanOptions& options, const GlobalOptions& global) try {
  const Planned planned = plan_as_typed(options, global);
  const TrainPlan& plan = planned.plan;
  if (!options.buffers_file.empty()) {
    write_file_atomically(options.buffers_file, buffer_table_csv(plan));
  }
  const bool fits = plan.memory.peak_bytes <= planned.budget_bytes;
  warn_of_full_drive(planned, global);
  if (global.json) {
    print_plan_json(planned);
    return fits ? kSuccess : kUnsupported;
  }
  const TrainConfig& train = planned.spec.train;
  print_line(fmt::format("{}: {} parameters, {} tokens a step, {} steps",
                         single_line(planned.spec.name), grouped(plan.parameters),
                         grouped(train.tokens_per_step(planned.spec.model.context)),
                         grouped(train.steps)));
  if (planned.elsewhere) {
    print_line(fmt::format(
        "Planned for a card, {}, from its maker's figures: BF16 activations, and "
        "BF16 weights beside what they are rounded from{}; {} MiB of its memory "
        "are CUDA's.",
        planned.device.name, train.products == Products::fp8 ? ", blocks' products in FP8" : "",
        kCardContext_bytes >> 20));
  }
  print_memory(planned);
  print_offloaded(planned);
  print_line(fmt::format(
      "Predicted on {}, {}: {} tokens/s, {:.3g} s a step, {} in all", planned.device.name,
      planned.device.detail, grouped(std::llround(planned.speed.tokens_per_second)),
      planned.speed.step_seconds,
      duration_text(planned.speed.step_seconds * static_cast<double>(train.steps))));
  print_ways(planned);
  if (options.explain) explain_peak(plan);
  return fits ? kSuccess : kUnsupported;
} catch (const Error& error) {
  print_problem(options.spec.in_terms_of_options(error.message()));
  return exit_code_of(error.kind());
}

}  // namespace

void add_plan_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("plan", "Show what a run needs and how fast it will be, without training");
  const auto options = std::make_shared<PlanOptions>();
  options->spec.add_to(*command);
  command
      ->add_option("--budget", options->budget,
                   "Memory it may take, such as 8GiB; else what is free")
      ->type_name("SIZE");
  command
      ->add_option("--card", options->card,
                   "Plan for this graphics card instead of this computer; see: athanorctl cards")
      ->type_name("NAME");
  command->add_option("--buffers", options->buffers_file, "Write every buffer's size and lifetime")
      ->type_name("CSV");
  command->add_flag("--explain", options->explain, "Say what is alive at the peak");
  command->callback([options, &global, &action] {
    action = [options, &global] { return show_plan(*options, global); };
  });
}

}  // namespace athanor
