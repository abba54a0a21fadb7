// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/cuda/driver.h"
#include "engine/planner/device_speed.h"
#include "engine/train/train_config.h"

namespace athanor {

/// A graphics card that a run could be planned for, by its maker's figures.
struct GraphicsCard {
  std::string name;  ///< "RTX 3070 Ti"
  double compute_capability = 0;
  std::int64_t memory_bytes = 0;
  double bytes_per_second = 0;       ///< of its memory
  double bf16_flops_per_second = 0;  ///< dense, FP32 accumulation; 0: it has no BF16
  double host_bytes_per_second = 0;  ///< over PCIe, each way
};

/// The first line of a list of cards.
inline constexpr std::string_view kCardColumns =
    "name,compute_capability,memory_gib,bandwidth_gb_s,bf16_tflop_s,pcie_generation,pcie_lanes";

/// What a plan may take on the card. Throws unsupported naming the card and the reason when it
/// cannot train.
std::int64_t usable_bytes(const GraphicsCard& card);

/// `text` in the form of resources/cards.csv. Throws damaged naming `place`, the line and what is
/// wrong with it.
std::vector<GraphicsCard> parse_cards(std::string_view text, const std::string& place);

/// The cards that come with the program, then those of cards.csv in `home`, where one of the same
/// name replaces. Throws as parse_cards() does, naming that file; a file that is not there is none.
std::vector<GraphicsCard> known_cards(const std::filesystem::path& home);

/// By name, whatever its letters' case. Throws not_found with names that are like it.
const GraphicsCard& find_card(const std::vector<GraphicsCard>& cards, const std::string& name);

/// An estimate from the maker's figures, of a card that need not be in this machine.
DeviceSpeed speed_of(const GraphicsCard& card);

/// `train` as a card computes it: activations in BF16, weights in BF16 with an FP32 copy unless
/// they are in BF16 already.
TrainConfig on_card(const TrainConfig& train);
/// A proposal for on_card(`asked`) in the storage that was asked for, but for what it offloads.
TrainConfig from_card(TrainConfig proposed, const TrainConfig& asked);

/// The text of resources/cards.csv as it was when the program was built.
std::string_view built_in_cards();

}  // namespace athanor
