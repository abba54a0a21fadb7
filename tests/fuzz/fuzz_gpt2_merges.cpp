// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/fuzz_tokenizer.h"

/// The input is encoder.json, a line of three dashes, and vocab.bpe.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  return fuzz_reader(data, size, [](std::string_view text) {
    constexpr std::string_view kLine = "\n---\n";
    const std::size_t at = text.find(kLine);
    const std::string_view encoder = text.substr(0, at);
    const std::string_view merges =
        at == std::string_view::npos ? std::string_view() : text.substr(at + kLine.size());
    use_tokenizer(read_gpt2_files(encoder, "encoder.json", merges, "vocab.bpe"));
  });
}
