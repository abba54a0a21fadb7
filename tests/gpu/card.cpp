// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/card.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace athanor {
namespace {

std::string reason_for_none(const Devices& devices) {
  for (const Device& device : devices.list) {
    if (!device.is_card() || device.usable()) continue;
    return device.name + ": " + device.problem +
           (device.context.empty() ? "" : " (" + device.context + ")");
  }
  return devices.no_card;
}

}  // namespace

const Device* card_to_check(const std::string& id) {
  const Devices& devices = find_devices();
  const Device& device = devices.usable(id);
  if (device.is_card()) return &device;
  fmt::print("not run on a card: {}\n", reason_for_none(devices));
  return nullptr;
}

int card_index(const Device& card) {
  return std::stoi(card.id.substr(card.id.find(':') + 1));
}

void print_failure(const std::exception& problem) {
  fmt::print("failed: {}\n", problem.what());
  const auto* error = dynamic_cast<const Error*>(&problem);
  if (error != nullptr && !error->context().empty()) fmt::print("  {}\n", error->context());
}

void write_results(const std::filesystem::path& json, const Json& results) {
  if (!json.empty()) write_file_atomically(json, results.dump(1) + "\n");
}

}  // namespace athanor
