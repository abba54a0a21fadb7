// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/nvml.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "engine/backend/cuda/library.h"

namespace athanor {

namespace {

/// Of nvml.h, what is used here.
using Result = int;
using CardHandle = void*;
constexpr Result kSuccess = 0;
constexpr unsigned kTemperature_of_chip = 0;
struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned card, memory;
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned instance, compute_instance;
};
constexpr unsigned long long kNot_told = ~0ULL;

struct Reason {
  unsigned long long bits;
  Throttle reason;
};
/// nvmlClocksEventReason…; an idle card's low clocks (1) are no throttling.
constexpr std::array<Reason, 6> kReasons = {{{0x4, Throttle::power_limit},
                                             {0x20 | 0x40, Throttle::heat},
                                             {0x80, Throttle::power_supply},
                                             {0x8, Throttle::hardware},
                                             {0x2 | 0x100, Throttle::set_clocks},
                                             {0x10, Throttle::other_card}}};

std::vector<Throttle> throttles_of(unsigned long long bits) {
  std::vector<Throttle> found;
  for (const Reason& each : kReasons) {
    if ((bits & each.bits) != 0) found.push_back(each.reason);
  }
  // "Slowed down by the hardware" comes with its cause where that is known.
  const auto has = [&](Throttle reason) { return std::ranges::find(found, reason) != found.end(); };
  if (has(Throttle::heat) || has(Throttle::power_supply)) std::erase(found, Throttle::hardware);
  return found;
}

}  // namespace

struct Nvml::Functions {
  explicit Functions(const Library& library)
      : init(library.function<Result()>("nvmlInit_v2")),
        card(library.function<Result(const char*, CardHandle*)>("nvmlDeviceGetHandleByUUID")),
        memory(library.function<Result(CardHandle, Memory*)>("nvmlDeviceGetMemoryInfo")),
        utilisation(
            library.function<Result(CardHandle, Utilisation*)>("nvmlDeviceGetUtilizationRates")),
        power(library.function<Result(CardHandle, unsigned*)>("nvmlDeviceGetPowerUsage")),
        limit(library.function<Result(CardHandle, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit")),
        temperature(
            library.function<Result(CardHandle, unsigned, unsigned*)>("nvmlDeviceGetTemperature")),
        reasons(library.function<Result(CardHandle, unsigned long long*)>(
            "nvmlDeviceGetCurrentClocksEventReasons")),
        processes(library.function<Result(CardHandle, unsigned*, Process*)>(
            "nvmlDeviceGetComputeRunningProcesses_v3")) {
    if (reasons == nullptr) {
      // As it was called before driver 535.
      reasons = library.function<Result(CardHandle, unsigned long long*)>(
          "nvmlDeviceGetCurrentClocksThrottleReasons");
    }
  }

  std::optional<std::int64_t> own_bytes(CardHandle of) const;

  Result (*init)();
  Result (*card)(const char*, CardHandle*);
  Result (*memory)(CardHandle, Memory*);
  Result (*utilisation)(CardHandle, Utilisation*);
  Result (*power)(CardHandle, unsigned*);
  Result (*limit)(CardHandle, unsigned*);
  Result (*temperature)(CardHandle, unsigned, unsigned*);
  Result (*reasons)(CardHandle, unsigned long long*);
  Result (*processes)(CardHandle, unsigned*, Process*);
};

std::optional<std::int64_t> Nvml::Functions::own_bytes(CardHandle of) const {
  std::array<Process, 64> running{};
  auto count = static_cast<unsigned>(running.size());
  if (processes == nullptr || processes(of, &count, running.data()) != kSuccess) return {};
  for (unsigned i = 0; i < std::min<std::size_t>(count, running.size()); ++i) {
    if (running[i].pid != static_cast<unsigned>(::getpid())) continue;
    if (running[i].used_bytes == kNot_told) return {};
    return static_cast<std::int64_t>(running[i].used_bytes);
  }
  // In a container, processes have other numbers outside: none of them is known to be this one.
  return count == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
}

std::string_view words_of(Throttle reason) {
  switch (reason) {
    case Throttle::power_limit:
      return "at its power limit";
    case Throttle::heat:
      return "too hot";
    case Throttle::power_supply:
      return "short of power from the supply";
    case Throttle::hardware:
      return "slowed down by its hardware";
    case Throttle::set_clocks:
      return "its clock is set lower";
    case Throttle::other_card:
      return "kept in step with another card";
  }
  return "";
}

std::string Nvml::usual_library() {
  const std::string chosen = environment_text("ATHANOR_NVML");
  return chosen.empty() ? "libnvidia-ml.so.1" : chosen;
}

Nvml::Nvml(const std::string& library) {
  auto functions = std::make_unique<Functions>(Library(library));
  const bool usable = functions->init != nullptr && functions->card != nullptr;
  if (usable && functions->init() == kSuccess) functions_ = std::move(functions);
}

Nvml::~Nvml() = default;

CardReading Nvml::read(const std::string& uuid) const {
  CardReading reading;
  CardHandle card = nullptr;
  if (!functions_ || functions_->card(uuid.c_str(), &card) != kSuccess) return reading;
  const auto ask = [&](auto function, auto... arguments) {
    return function != nullptr && function(card, arguments...) == kSuccess;
  };
  Memory memory{};
  if (ask(functions_->memory, &memory)) {
    reading.total_bytes = static_cast<std::int64_t>(memory.total);
    reading.used_bytes = static_cast<std::int64_t>(memory.used);
  }
  reading.own_bytes = functions_->own_bytes(card);
  Utilisation busy{};
  if (ask(functions_->utilisation, &busy)) {
    reading.utilisation_percent = static_cast<int>(busy.card);
  }
  unsigned value = 0;
  constexpr double kMilliwatts = 1000;
  if (ask(functions_->power, &value)) reading.power_w = value / kMilliwatts;
  if (ask(functions_->limit, &value)) reading.power_limit_w = value / kMilliwatts;
  if (ask(functions_->temperature, kTemperature_of_chip, &value)) {
    reading.temperature_c = static_cast<int>(value);
  }
  unsigned long long bits = 0;
  if (ask(functions_->reasons, &bits)) reading.throttles = throttles_of(bits);
  return reading;
}

const Nvml& nvml() {
  static const Nvml own;
  return own;
}

}  // namespace athanor
