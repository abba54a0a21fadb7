// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/rated_card.h"

#include <cmath>
#include <sstream>
#include <string>

namespace athanor {
namespace {

/// Words of the row's name that the driver's name has; 0 when one that matters is missing.
std::size_t words_in_common(const std::string& row, std::string_view driver_name) {
  std::istringstream words(row);
  std::size_t found = 0;
  for (std::string word; words >> word;) {
    const bool there = driver_name.find(word) != std::string_view::npos;
    if (!there && word != "SXM" && word != "80") return 0;
    found += there ? 1 : 0;
  }
  return found;
}

}  // namespace

std::optional<GraphicsCard> rated_card(const std::vector<GraphicsCard>& cards,
                                       std::string_view driver_name, std::int64_t memory_bytes) {
  // What is built into laptops has the names of faster cards.
  for (const char* slower : {"Laptop", "Max-Q", "MIG"})
    if (driver_name.find(slower) != std::string_view::npos) return std::nullopt;
  std::optional<GraphicsCard> best;
  std::size_t most = 0;
  for (const GraphicsCard& card : cards) {
    const double ratio = static_cast<double>(memory_bytes) / static_cast<double>(card.memory_bytes);
    const std::size_t words = words_in_common(card.name, driver_name);
    if (words <= most || std::abs(ratio - 1) > 0.12) continue;
    most = words;
    best = card;
  }
  return best;
}

}  // namespace athanor
