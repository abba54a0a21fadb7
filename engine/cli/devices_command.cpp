// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"

namespace athanor {

namespace {

Json device_as_json(const Device& device, bool best) {
  return {{"device", device.id},
          {"name", device.name},
          {"detail", device.detail},
          {"memory_bytes", device.memory_bytes},
          {"available_bytes", device.usable() ? Json(available_bytes(device)) : Json(nullptr)},
          {"problem", device.problem},
          {"context", device.context},
          {"best", best}};
}

void print_device(const Device& device) {
  constexpr double kGiB = 1 << 30;
  const std::string memory =
      device.memory_bytes > 0
          ? fmt::format("{:.2f} GiB", static_cast<double>(device.memory_bytes) / kGiB)
          : "";
  print_line(fmt::format("{:<7} {:<34} {:>11}  {}", device.id, single_line(device.name), memory,
                         device.detail));
  if (device.usable()) return;
  print_line("        not used: " + single_line(device.problem));
  if (!device.context.empty()) print_line("        (" + single_line(device.context) + ")");
}

int list_devices(const GlobalOptions& global) {
  const Devices& devices = find_devices();
  const Device& best = devices.best();
  if (global.json) {
    Json list = Json::array();
    for (const Device& device : devices.list)
      list.push_back(device_as_json(device, &device == &best));
    print_json({{"devices", list}, {"no_card", devices.no_card}});
    return kSuccess;
  }
  for (const Device& device : devices.list)
    print_device(device);
  if (!devices.no_card.empty()) print_line(devices.no_card);
  print_line(fmt::format("Runs take {}, unless --device names another.", best.id));
  return kSuccess;
}

}  // namespace

void add_devices_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand(
      "devices", "List what this machine can train on, and what keeps a graphics card from it");
  command->callback([&global, &action] { action = [&global] { return list_devices(global); }; });
}

}  // namespace athanor
