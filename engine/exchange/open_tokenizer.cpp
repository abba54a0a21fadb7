// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/open_tokenizer.h"

#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include "engine/exchange/gguf_tokenizer.h"

namespace athanor {
namespace {

bool is_gguf(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::array<char, 4> magic{};
  std::ifstream(path, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "GGUF";
}

}  // namespace

Tokenizer open_tokenizer(const std::filesystem::path& path, const std::string& pattern) {
  if (is_gguf(path)) return read_gguf_tokenizer(GgufFile::open(path));
  return Tokenizer::load(path, pattern);
}

}  // namespace athanor
