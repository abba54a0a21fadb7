// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

/// What slows a card down.
enum class Throttle { power_limit, heat, power_supply, hardware, set_clocks, other_card };

/// "too hot", to stand behind a figure.
std::string_view words_of(Throttle reason);

/// What a card says of itself at one moment; absent where it does not say.
struct CardReading {
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> used_bytes;  ///< by all processes and the driver
  std::optional<std::int64_t> own_bytes;   ///< by this process
  std::optional<int> utilisation_percent;  ///< share of the time in which something ran on it
  std::optional<double> power_w;
  std::optional<double> power_limit_w;
  std::optional<int> temperature_c;
  std::optional<std::vector<Throttle>> throttles;  ///< empty: it runs unhindered
};

/// The driver's monitoring library (NVML 12 and newer), loaded at run time. Any thread may read. A
/// reading takes milliseconds, and more while the driver is busy: not for the window's thread.
class Nvml {
 public:
  /// $ATHANOR_NVML where that is set, else libnvidia-ml.so.1. Without it, readings are empty.
  explicit Nvml(const std::string& library = usual_library());
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Of the card with this UUID (FoundCard).
  CardReading read(const std::string& uuid) const;

  static std::string usual_library();

 private:
  struct Functions;
  std::unique_ptr<Functions> functions_;  ///< null when there is nothing to ask
};

/// The process's own; loaded at the first call.
const Nvml& nvml();

}  // namespace athanor
