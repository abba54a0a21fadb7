// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace athanor {

/// The ladder of recomputation: each level drops more of what a layer keeps for its backward
/// direction, and makes it again there with the same kernels, so gradients are the same to the bit.
/// N tokens, d width, f MLP width, q query width, a width of queries, keys and values; elements
/// that a level saves per token and layer beyond the one before.
enum class KeepLevel {
  everything,      ///< S0
  no_norms,        ///< S1: 2d
  no_activation,   ///< S2: the MLP's activation, f
  no_mlp_product,  ///< S3: the input of the activation, 2f when gated, else f; costs its product
  no_qkv,          ///< S4: a; costs its product
  no_residual,     ///< S5: the stream between attention and MLP, d; costs attention's out-product
  block_input,     ///< S6: all but the block's input, q + heads; costs attention forward again
  host_input,      ///< S7: the block's input, d, is in the host tier; costs copies both ways
  nothing,         ///< for evaluation and decoding, which have no backward direction
};
/// That training can choose.
inline constexpr int kKeepLevels = 8;
/// Of these, the first that need no host tier.
inline constexpr int kDeviceKeepLevels = 7;

/// The level of each layer: one for all, and one more for the first few.
struct Recompute {
  std::int64_t level = 0;           ///< 0…7
  std::int64_t further_layers = 0;  ///< from the first: these are one level further

  KeepLevel of(std::int64_t layer) const {
    return static_cast<KeepLevel>(level + (layer < further_layers ? 1 : 0));
  }
  KeepLevel most() const { return of(0); }
};

}  // namespace athanor
