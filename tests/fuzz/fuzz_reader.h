// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"

namespace athanor {

/// Calls `read` with the fuzzer's bytes. An Error is how a reader refuses a file; anything else
/// that it throws ends the fuzzer, as does an Error that is no sentence or says the program is at
/// fault.
template <class Read>
int fuzz_reader(const std::uint8_t* data, std::size_t size, const Read& read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || error.message().size() < 20) __builtin_trap();
  }
  return 0;
}

}  // namespace athanor
