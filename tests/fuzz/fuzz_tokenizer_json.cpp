// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/json.h"
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/fuzz_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  return fuzz_reader(data, size, [](std::string_view text) {
    TokenizerDescription description =
        read_tokenizer_json(parse_keyed_json(text, "fuzzed file"), "fuzzed file");
    use_tokenizer(description);
    // What is written can be read, and says the same.
    const std::string written = tokenizer_json(description);
    const std::string again =
        tokenizer_json(read_tokenizer_json(parse_keyed_json(written, "written"), "written"));
    if (again != written) __builtin_trap();
  });
}
