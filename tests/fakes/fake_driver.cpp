// SPDX-License-Identifier: GPL-3.0-or-later
// Stands in for NVIDIA's libcuda.so.1 (CUDA Driver API), as far as cards are looked for.
#include <cstddef>
#include <cstring>

#include "tests/fakes/fake_answers.h"

using athanor::fake::answer;
using athanor::fake::number;

namespace {

constexpr int kInvalid_value = 1;

std::string key(const char* name, int card) {
  return name + std::to_string(card);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return static_cast<int>(number("init", 0));
}

int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("version", 13000));
  return 0;
}

int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_PRETENDED";
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(number("count", 1));
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return number(key("mute", ordinal), 0) != 0 ? kInvalid_value : 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  std::string text = answer(key("name", device));
  if (text.empty()) text = "NVIDIA GeForce RTX 3070 Ti";
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(length));
  return 0;
}

int cuDeviceGetUuid(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i)
    uuid[i] = static_cast<unsigned char>(i);
  uuid[15] = static_cast<unsigned char>(0xa0 + device);
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  constexpr int kMultiprocessors = 16;
  constexpr int kMajor = 75;
  constexpr int kMinor = 76;
  const auto capability = static_cast<int>(number(key("capability", device), 86));
  switch (attribute) {
    case kMultiprocessors:
      *value = 48;
      return 0;
    case kMajor:
      *value = capability / 10;
      return 0;
    case kMinor:
      *value = capability % 10;
      return 0;
    default:
      return kInvalid_value;
  }
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = static_cast<std::size_t>(number(key("memory_mib", device), 8192)) << 20;
  return 0;
}

}  // extern "C"
