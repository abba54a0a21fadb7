// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/fuzz_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  return fuzz_reader(data, size, [](std::string_view text) {
    // The bytes that every file must have, so that most inputs get beyond them.
    static const std::string bytes = [] {
      constexpr std::string_view kDigits =
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
      std::string lines;
      for (unsigned byte = 0; byte < 256; ++byte) {
        lines += kDigits[byte >> 2];
        lines += kDigits[(byte & 3) << 4];
        lines += "== " + std::to_string(byte) + "\n";
      }
      return lines;
    }();
    use_tokenizer(read_tiktoken(bytes + std::string(text), "fuzzed file", "cl100k"));
  });
}
