// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstring>

#include "engine/base/checksum.h"
#include "engine/data/token_shard.h"
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/scratch_folder.h"

/// Checksums are put right, so that the checks behind them are reached.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  static const ScratchFolder folder;
  constexpr std::size_t kHeader_bytes = 64;
  constexpr std::size_t kPayloadSum = 48;
  constexpr std::size_t kHeaderSum = 56;
  return fuzz_reader(data, size, [&](std::string_view text) {
    std::string content(text);
    if (content.size() >= kHeader_bytes) {
      const auto bytes = std::as_bytes(std::span(content));
      const std::uint64_t payload = checksum(bytes.subspan(kHeader_bytes));
      std::memcpy(content.data() + kPayloadSum, &payload, sizeof payload);
      const std::uint64_t header = checksum(bytes.first(kHeaderSum));
      std::memcpy(content.data() + kHeaderSum, &header, sizeof header);
    }
    const TokenShard shard = TokenShard::open(folder.write("a.tokens", content));
    for (std::int64_t at = 0; at < shard.tokens(); ++at) {
      if (shard.token(at) < 0 || shard.token(at) >= shard.info().vocabulary_size) __builtin_trap();
    }
  });
}
