// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/safetensors_header.h"
#include "tests/fuzz/fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  return fuzz_reader(data, size, [](std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    std::size_t covered = 0;
    for (const SafetensorsEntry& entry : read_safetensors_header("fuzzed file", bytes).entries) {
      if (!entry.data.empty() &&
          (entry.data.data() < bytes.data() || &entry.data.back() > &bytes.back())) {
        __builtin_trap();
      }
      covered += entry.data.size();
    }
    if (covered > bytes.size()) __builtin_trap();
  });
}
