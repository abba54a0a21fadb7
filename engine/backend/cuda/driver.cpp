// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/driver.h"

#include <array>
#include <fstream>
#include <optional>

#include "engine/backend/cuda/library.h"

namespace athanor {

namespace {

/// Of cuda.h, what is used here.
using Result = int;
using CardHandle = int;
constexpr Result kSuccess = 0;
constexpr Result kNo_device = 100;
constexpr Result kDriver_mismatch = 803;
constexpr int kMultiprocessors = 16;
constexpr int kCapability_major = 75;
constexpr int kCapability_minor = 76;
struct Uuid {
  std::array<unsigned char, 16> bytes;
};

constexpr int kLeast_cuda = 13000;
/// The first driver of CUDA 13, and the first capability with BF16.
constexpr const char* kInstall = "install driver 580 or newer";
constexpr int kLeast_capability = 8;

class Driver {
 public:
  explicit Driver(const Library& library)
      : init(library.function<Result(unsigned)>("cuInit")),
        version(library.function<Result(int*)>("cuDriverGetVersion")),
        error_name(library.function<Result(Result, const char**)>("cuGetErrorName")),
        count(library.function<Result(int*)>("cuDeviceGetCount")),
        get(library.function<Result(CardHandle*, int)>("cuDeviceGet")),
        name(library.function<Result(char*, int, CardHandle)>("cuDeviceGetName")),
        uuid(library.function<Result(Uuid*, CardHandle)>("cuDeviceGetUuid")),
        attribute(library.function<Result(int*, int, CardHandle)>("cuDeviceGetAttribute")),
        memory(library.function<Result(std::size_t*, CardHandle)>("cuDeviceTotalMem_v2")) {}

  bool complete() const {
    return init != nullptr && version != nullptr && count != nullptr && get != nullptr &&
           name != nullptr && uuid != nullptr && attribute != nullptr && memory != nullptr;
  }

  std::string words_of(Result error) const {
    const char* text = nullptr;
    if (error_name != nullptr) error_name(error, &text);
    return "error " + std::to_string(error) + (text == nullptr ? "" : std::string(", ") + text);
  }

  Result (*init)(unsigned);
  Result (*version)(int*);
  Result (*error_name)(Result, const char**);
  Result (*count)(int*);
  Result (*get)(CardHandle*, int);
  Result (*name)(char*, int, CardHandle);
  Result (*uuid)(Uuid*, CardHandle);
  Result (*attribute)(int*, int, CardHandle);
  Result (*memory)(std::size_t*, CardHandle);
};

/// "GPU-01234567-89ab-…", as NVML and nvidia-smi write it.
std::string text_of(const Uuid& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 15];
  }
  return text;
}

std::string too_old_driver(int version) {
  return "The NVIDIA driver supports CUDA " + cuda_version_text(version) + "; Athanor needs " +
         cuda_version_text(kLeast_cuda) + ": " + kInstall + ".";
}

std::string too_old_card(const FoundCard& card) {
  return "The " + card.name + " is too old: it has compute capability " +
         std::to_string(card.capability_major) + "." + std::to_string(card.capability_minor) +
         ", and Athanor needs " + std::to_string(kLeast_capability) +
         ".0, the first with BF16: a card of the RTX 30 series or newer.";
}

std::optional<FoundCard> read_card(const Driver& driver, int index) {
  FoundCard card{.index = index};
  CardHandle handle = 0;
  std::array<char, 256> name{};
  Uuid uuid{};
  std::size_t bytes = 0;
  const auto attribute = [&](int which, int& value) {
    return driver.attribute(&value, which, handle) == kSuccess;
  };
  if (driver.get(&handle, index) != kSuccess ||
      driver.name(name.data(), static_cast<int>(name.size()) - 1, handle) != kSuccess ||
      driver.uuid(&uuid, handle) != kSuccess || driver.memory(&bytes, handle) != kSuccess ||
      !attribute(kCapability_major, card.capability_major) ||
      !attribute(kCapability_minor, card.capability_minor) ||
      !attribute(kMultiprocessors, card.multiprocessors)) {
    return std::nullopt;
  }
  card.name = name.data();
  card.uuid = text_of(uuid);
  card.memory_bytes = static_cast<std::int64_t>(bytes);
  return card;
}

/// Whether an NVIDIA display controller is plugged in, by the system's own list.
bool has_nvidia_card(const std::filesystem::path& plugged_in) {
  const auto first_line = [](const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
  };
  if (plugged_in.empty()) return false;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(plugged_in, unreadable)) {
    // PCI class 03 is a display controller, vendor 10de is NVIDIA.
    if (first_line(entry.path() / "vendor") == "0x10de" &&
        first_line(entry.path() / "class").starts_with("0x03")) {
      return true;
    }
  }
  return false;
}

DriverFindings without_driver(const Library& library, const DriverPlaces& places) {
  DriverFindings findings{.context = library.error(),
                          .hidden_card = has_nvidia_card(places.plugged_in)};
  if (!library.absent()) {
    findings.problem =
        "The NVIDIA driver's library cannot be loaded. Restart the computer; if that does not "
        "help, " +
        std::string(kInstall) + ".";
  } else if (findings.hidden_card) {
    findings.problem = "There is an NVIDIA card, but no NVIDIA driver: " + std::string(kInstall) +
                       ", then restart the computer.";
  } else {
    findings.problem = "No NVIDIA driver was found. If this computer has an NVIDIA card, " +
                       std::string(kInstall) + ".";
  }
  return findings;
}

std::string start_problem(const Driver& driver, Result error) {
  switch (error) {
    case kNo_device:
      return "The NVIDIA driver is there, but it finds no card. Check that the card sits firmly "
             "and has power, and that CUDA_VISIBLE_DEVICES does not hide it.";
    case kDriver_mismatch:
      return "The NVIDIA driver was updated while it was in use: restart the computer.";
    default:
      return "The NVIDIA driver does not start (" + driver.words_of(error) +
             "). Restart the computer; if that does not help, " + kInstall + ".";
  }
}

void list_cards(const Driver& driver, DriverFindings& findings) {
  int count = 0;
  const Result counted = driver.count(&count);
  for (int index = 0; counted == kSuccess && index < count; ++index) {
    std::optional<FoundCard> card = read_card(driver, index);
    if (!card) {
      findings.problem = "The NVIDIA driver does not tell what card " + std::to_string(index) +
                         " is. Restart the computer.";
      continue;
    }
    if (findings.cuda_version < kLeast_cuda) {
      card->problem = too_old_driver(findings.cuda_version);
    } else if (card->capability_major < kLeast_capability) {
      card->problem = too_old_card(*card);
    }
    findings.cards.push_back(*std::move(card));
  }
  if (findings.cards.empty() && findings.problem.empty()) {
    findings.problem = start_problem(driver, counted == kSuccess ? kNo_device : counted);
  }
}

}  // namespace

DriverPlaces DriverPlaces::usual() {
  const std::string chosen = environment_text("ATHANOR_CUDA_DRIVER");
  return chosen.empty() ? DriverPlaces{} : DriverPlaces{.library = chosen, .plugged_in = {}};
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DriverFindings ask_driver(const DriverPlaces& places) {
  const Library library(places.library);
  if (!library.loaded()) return without_driver(library, places);
  const Driver driver(library);
  DriverFindings findings;
  if (!driver.complete()) {
    findings.problem = "The NVIDIA driver is too old: " + std::string(kInstall) + ".";
    return findings;
  }
  driver.version(&findings.cuda_version);
  const Result started = driver.init(0);
  if (started == kSuccess) {
    list_cards(driver, findings);
  } else {
    findings.problem = start_problem(driver, started);
    findings.context = driver.words_of(started);
    findings.hidden_card = has_nvidia_card(places.plugged_in);
  }
  // Whatever else an old driver says, a newer one is the next step.
  if (findings.cards.empty() && findings.cuda_version > 0 && findings.cuda_version < kLeast_cuda) {
    findings.problem = too_old_driver(findings.cuda_version);
  }
  return findings;
}

}  // namespace athanor
