// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/stop_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/error.h"
#include "engine/infer/sampler.h"

namespace athanor {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  if (stops_.size() > kMostStops) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("There are {} texts to stop at; at most {} can be given.",
                            stops_.size(), kMostStops));
  }
  for (const std::string& stop : stops_) {
    if (!stop.empty() && stop.size() <= kMostStop_bytes) continue;
    throw Error(ErrorKind::invalid_argument,
                fmt::format("A text to stop at has {} bytes; 1 to {} are possible.", stop.size(),
                            kMostStop_bytes));
  }
}

std::string StopText::push(const std::string& text) {
  if (found_) return {};
  held_ += text;
  std::size_t first = std::string::npos;
  std::size_t begun = held_.size();
  for (const std::string& stop : stops_) {
    first = std::min(first, held_.find(stop));
    const std::size_t longest = std::min(held_.size(), stop.size() - 1);
    for (std::size_t length = longest; length > 0; --length) {
      const std::size_t at = held_.size() - length;
      if (at >= begun) break;
      if (std::string_view(held_).substr(at) == std::string_view(stop).substr(0, length)) {
        begun = at;
        break;
      }
    }
  }
  found_ = first != std::string::npos;
  std::string certain = held_.substr(0, found_ ? first : begun);
  held_ = found_ ? std::string() : held_.substr(begun);
  return certain;
}

std::string StopText::finish() {
  return std::exchange(held_, {});
}

}  // namespace athanor
