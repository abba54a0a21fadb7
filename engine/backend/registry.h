// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/driver.h"

namespace athanor {

/// What a run can be trained on in this machine, or could be but for `problem`.
struct Device {
  std::string id;      ///< "cpu", "cuda:0"
  std::string name;    ///< "NVIDIA GeForce RTX 3070 Ti"
  std::string detail;  ///< "compute capability 8.6, 48 multiprocessors, CUDA 13.0"
  std::int64_t memory_bytes = 0;
  std::string problem;            ///< why it cannot be used, with the next step; empty when it can
  std::string context;            ///< technical detail of it; may be empty
  std::string uuid;               ///< of a card, as NVML takes it
  double compute_capability = 0;  ///< of a card

  bool is_card() const { return id != "cpu"; }
  /// Of its backend, made or not.
  BackendTraits traits() const;
  bool usable() const { return problem.empty(); }
};

struct Devices {
  std::vector<Device> list;  ///< the cards as the driver counts them, then the processor
  std::string no_card;       ///< why no card is listed; empty when one is

  /// A card if there is a usable one, else the processor.
  const Device& best() const;
  /// "" is the best. Throws invalid_argument for an unknown one and unsupported for one with a
  /// problem, with the sentence.
  const Device& usable(std::string_view id) const;
  std::vector<std::string> usable_ids() const;  ///< the best first
  /// Null when there is none.
  const Device* find(std::string_view id) const;
  /// A sentence, when `used` is the processor because the card that was found cannot be used; empty
  /// when there is none, or one that could be.
  std::string unused_card(const Device& used) const;
};

struct DevicePlaces {
  DriverPlaces driver;
  std::vector<std::filesystem::path> plugins;

  static DevicePlaces usual();
};

/// Asks driver and plug-in anew; find_devices() is for everyone but tests.
Devices look_for_devices(const DevicePlaces& places);
/// Looks once for the process: up to seconds where there is a driver, so not on a window's thread.
const Devices& find_devices();

struct BackendOptions {
  int threads = 0;     ///< of the processor; 0: as many as the process may use
  std::string device;  ///< Device::id; empty: the best that can be used

  bool operator==(const BackendOptions&) const = default;
};

/// Throws what Devices::usable() throws, and what keeps the device from starting.
std::unique_ptr<Backend> make_backend(const BackendOptions& options = {});

/// Memory of `device` that a run could take now: a card's without what CUDA itself needs.
std::int64_t available_bytes(const Device& device);

}  // namespace athanor
