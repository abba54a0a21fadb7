// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/planner/cards.h"

namespace athanor {

/// The row of the table of cards that a driver's name stands for ("NVIDIA H200" for "H200 SXM"):
/// all words of the row but its socket and size are in the name, and the memory is about as much.
std::optional<GraphicsCard> rated_card(const std::vector<GraphicsCard>& cards,
                                       std::string_view driver_name, std::int64_t memory_bytes);

}  // namespace athanor
