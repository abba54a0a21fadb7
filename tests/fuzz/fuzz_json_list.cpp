// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/fuzz_records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return athanor::fuzz_records(data, size, "a.json");
}
