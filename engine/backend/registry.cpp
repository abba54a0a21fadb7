// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/registry.h"

#include <algorithm>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/cuda/nvml.h"
#include "engine/backend/cuda/plugin.h"
#include "engine/backend/cuda/plugin_loader.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/base/thread_pool.h"

namespace athanor {

BackendTraits Device::traits() const {
  return is_card() ? cuda::card_traits(compute_capability) : BackendTraits();
}

namespace {

constexpr std::string_view kCard = "cuda:";

constexpr double kMinor = 0.1;

Device device_of(const FoundCard& card, int cuda_version) {
  return {.id = std::string(kCard) + std::to_string(card.index),
          .name = card.name,
          .detail = "compute capability " + std::to_string(card.capability_major) + "." +
                    std::to_string(card.capability_minor) + ", " +
                    std::to_string(card.multiprocessors) + " multiprocessors, CUDA " +
                    cuda_version_text(cuda_version),
          .memory_bytes = card.memory_bytes,
          .problem = card.problem,
          .uuid = card.uuid,
          .compute_capability = card.capability_major + kMinor * card.capability_minor};
}

Device processor() {
  return {.id = "cpu",
          .name = processor_name(),
          .detail = std::to_string(ThreadPool::default_threads()) + " threads",
          .memory_bytes = total_memory_bytes()};
}

struct Found {
  Devices devices;
  const CudaPlugin* plugin = nullptr;
};

Found look(const DevicePlaces& places) {
  Found found;
  const DriverFindings driver = ask_driver(places.driver);
  std::vector<Device>& list = found.devices.list;
  for (const FoundCard& card : driver.cards)
    list.push_back(device_of(card, driver.cuda_version));
  if (list.empty() && driver.hidden_card) {
    list.push_back({.id = std::string(kCard) + "0",
                    .name = "NVIDIA card",
                    .problem = driver.problem,
                    .context = driver.context});
  }
  if (list.empty()) found.devices.no_card = driver.problem;
  // CUDA's libraries are large: they are loaded only for a card that could use them.
  if (std::ranges::any_of(list, &Device::usable)) {
    const LoadedPlugin loaded = load_cuda_plugin(places.plugins);
    found.plugin = loaded.plugin;
    for (Device& card : list) {
      if (!card.usable()) continue;
      card.problem = loaded.problem;
      card.context = loaded.context;
    }
  }
  list.push_back(processor());
  return found;
}

const Found& found_once() {
  static const Found found = look(DevicePlaces::usual());
  return found;
}

}  // namespace

const Device& Devices::best() const {
  return *std::ranges::find_if(list, &Device::usable);
}

std::vector<std::string> Devices::usable_ids() const {
  std::vector<std::string> ids;
  for (const Device& device : list) {
    if (device.usable()) ids.push_back(device.id);
  }
  return ids;
}

const Device* Devices::find(std::string_view id) const {
  const auto at = std::ranges::find(list, id, &Device::id);
  return at == list.end() ? nullptr : &*at;
}

const Device& Devices::usable(std::string_view id) const {
  if (id.empty()) return best();
  const Device* device = find(id);
  if (device == nullptr) {
    std::string known;
    for (const Device& each : list)
      known += (known.empty() ? "" : ", ") + each.id;
    throw Error(ErrorKind::invalid_argument, "There is no device called \"" + std::string(id) +
                                                 "\" in this machine. Choose one of: " + known +
                                                 (no_card.empty() ? "." : ". " + no_card));
  }
  if (!device->usable()) {
    throw Error(ErrorKind::unsupported,
                device->name + " cannot be used. " + device->problem + " Until then, choose cpu.",
                device->context);
  }
  return *device;
}

std::string Devices::unused_card(const Device& used) const {
  if (used.is_card() || best().is_card()) return "";
  const auto card = std::ranges::find_if(list, [](const Device& d) { return !d.usable(); });
  return card == list.end() ? "" : card->name + " is not used. " + card->problem;
}

DevicePlaces DevicePlaces::usual() {
  return {.driver = DriverPlaces::usual(), .plugins = plugin_folders()};
}

Devices look_for_devices(const DevicePlaces& places) {
  return look(places).devices;
}

const Devices& find_devices() {
  return found_once().devices;
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  const Found& found = found_once();
  const Device& device = found.devices.usable(options.device);
  if (!device.is_card()) return make_cpu_backend(options.threads);
  return found.plugin->make(std::stoi(device.id.substr(kCard.size())));
}

std::int64_t available_bytes(const Device& device) {
  if (!device.is_card()) return available_memory_bytes();
  const CardReading now = nvml().read(device.uuid);
  // What this process has there already, its next run can have.
  const std::int64_t others = now.used_bytes.value_or(0) - now.own_bytes.value_or(0);
  return std::max<std::int64_t>(0, device.memory_bytes - others - kCardContext_bytes);
}

}  // namespace athanor
