// SPDX-License-Identifier: GPL-3.0-or-later
// Stands in for NVIDIA's libnvidia-ml.so.1. What has no answer is "not supported".
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "tests/fakes/fake_answers.h"

using athanor::fake::answer;
using athanor::fake::number;

namespace {

constexpr int kNot_supported = 3;
constexpr int kNot_found = 6;

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

template <class Value>
int give(const char* key, Value* value) {
  if (answer(key).empty()) return kNot_supported;
  *value = static_cast<Value>(number(key, 0));
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return static_cast<int>(number("nvml_init", 0));
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  static char card = 0;
  *device = &card;
  // A driver that is busy takes its time.
  std::this_thread::sleep_for(std::chrono::milliseconds(number("delay_ms", 0)));
  return std::string(uuid) == "GPU-00010203-0405-0607-0809-0a0b0c0d0ea0" ? 0 : kNot_found;
}

int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  if (answer("used_mib").empty()) return kNot_supported;
  memory->total = static_cast<unsigned long long>(number("memory_mib0", 8192)) << 20;
  memory->used = static_cast<unsigned long long>(number("used_mib", 0)) << 20;
  memory->free = memory->total - memory->used;
  return 0;
}

int nvmlDeviceGetUtilizationRates(void*, Utilisation* rates) {
  return give("busy", &rates->card);
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  return give("power_mw", milliwatts);
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  return give("limit_mw", milliwatts);
}

int nvmlDeviceGetTemperature(void*, unsigned sensor, unsigned* degrees) {
  return sensor == 0 ? give("temperature", degrees) : kNot_supported;
}

#ifdef ATHANOR_OLD_NVML
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
#else
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
#endif
  return give("reasons", reasons);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  if (answer("own_mib").empty()) return kNot_supported;
  // Where numbers of processes mean something else, as in a container, none is this one.
  const bool strange = number("strange_pids", 0) != 0;
  const long long own = number("own_mib", 0);
  const auto self = static_cast<unsigned>(::getpid());
  processes[0] = {self + 1, 100ULL << 20, 0, 0};
  processes[1] = {self + (strange ? 2 : 0),
                  own < 0 ? ~0ULL : static_cast<unsigned long long>(own) << 20, 0, 0};
  *count = 2;
  return 0;
}

}  // extern "C"
