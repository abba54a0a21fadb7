// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace athanor {

/// Of a card's memory: what CUDA itself takes before a program has anything.
inline constexpr std::int64_t kCardContext_bytes = std::int64_t{390} << 20;

/// A graphics card that the NVIDIA driver tells of.
struct FoundCard {
  int index = 0;     ///< as the driver and CUDA count
  std::string name;  ///< "NVIDIA GeForce RTX 3070 Ti"
  std::string uuid;  ///< "GPU-" and 32 hexadecimal digits in groups, as NVML takes it
  int capability_major = 0;
  int capability_minor = 0;
  std::int64_t memory_bytes = 0;
  int multiprocessors = 0;
  std::string problem;  ///< why it cannot be used, with the next step; empty when it can
};

struct DriverFindings {
  int cuda_version = 0;  ///< that the driver supports, 13000 for CUDA 13.0; 0: none, or unknown
  std::vector<FoundCard> cards;
  std::string problem;       ///< when there are no cards: why, with the next step
  std::string context;       ///< technical detail of it; may be empty
  bool hidden_card = false;  ///< there is a card, though the driver does not tell of it
};

/// Where a driver is looked for.
struct DriverPlaces {
  std::string library = "libcuda.so.1";
  /// Where the system lists what is plugged in, to tell a card without a driver from none; empty:
  /// not looked at.
  std::filesystem::path plugged_in = "/sys/bus/pci/devices";

  /// These, but $ATHANOR_CUDA_DRIVER alone where that is set.
  static DriverPlaces usual();
};

/// Asks the NVIDIA driver (CUDA Driver API, version 13) for its cards, without CUDA's headers or
/// libraries. Takes up to seconds on a machine whose driver sleeps. Never throws: what is wrong is
/// in the findings.
DriverFindings ask_driver(const DriverPlaces& places = DriverPlaces::usual());

/// "13.0" for 13000
std::string cuda_version_text(int version);

}  // namespace athanor
