// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/planner/cards.h"

namespace athanor {

namespace {

constexpr double kGiB = 1 << 30;

std::string rate_text(const GraphicsCard& card) {
  return card.bf16_flops_per_second == 0
             ? "no BF16"
             : fmt::format("{:.1f} TFLOP/s", card.bf16_flops_per_second / 1e12);
}

int list_cards(const GlobalOptions& global) {
  const std::vector<GraphicsCard> cards = known_cards(global.home_folder());
  if (global.json) {
    Json list = Json::array();
    for (const GraphicsCard& card : cards) {
      list.push_back({{"name", card.name},
                      {"compute_capability", card.compute_capability},
                      {"memory_bytes", card.memory_bytes},
                      {"bytes_per_second", card.bytes_per_second},
                      {"bf16_flops_per_second", card.bf16_flops_per_second},
                      {"host_bytes_per_second", card.host_bytes_per_second}});
    }
    print_json(list);
    return kSuccess;
  }
  for (const GraphicsCard& card : cards) {
    print_line(fmt::format("{:<20} {:>4.0f} GiB {:>6.0f} GB/s  {:>14}", single_line(card.name),
                           static_cast<double>(card.memory_bytes) / kGiB,
                           card.bytes_per_second / 1e9, rate_text(card)));
  }
  print_note(
      fmt::format("Cards of your own go into {}: a line with the columns' names, {}, then a line "
                  "for each.",
                  (global.home_folder() / "cards.csv").string(), kCardColumns));
  return kSuccess;
}

}  // namespace

void add_cards_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("cards", "List the graphics cards that a run can be planned for");
  command->callback([&global, &action] { action = [&global] { return list_cards(global); }; });
}

}  // namespace athanor
