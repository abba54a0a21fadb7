// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

namespace athanor::fake {

/// What the fake libraries answer: lines "key value" of the file that $ATHANOR_FAKE_CARDS names,
/// read at each call, so that a test can change them. Empty when the key is not there.
inline std::string answer(const std::string& key) {
  const char* path = std::getenv("ATHANOR_FAKE_CARDS");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + " ")) return line.substr(key.size() + 1);
  }
  return "";
}

/// `otherwise` when the key is not there.
inline long long number(const std::string& key, long long otherwise) {
  const std::string text = answer(key);
  return text.empty() ? otherwise : std::stoll(text, nullptr, 0);
}

}  // namespace athanor::fake
