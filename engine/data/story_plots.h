// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>
#include <string_view>

namespace athanor::story {

/// One or a few sentences of a plot, told in `percent` of its stories.
struct Beat {
  int percent;
  std::string_view text;
};

using Plot = std::span<const Beat>;

/// Plots about things and work, and about people and animals.
std::span<const Plot> plots_of_things();
std::span<const Plot> plots_of_friends();
std::span<const std::string_view> openings();
std::span<const std::string_view> closings();

}  // namespace athanor::story
