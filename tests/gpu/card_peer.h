// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

/// What a card does without this project's code, to compare with: a library of its own,
/// libathanor_card_peer.so beside the plug-in, so that the programs that load it need no CUDA.
namespace athanor {

inline constexpr const char* kCardPeerFile = "libathanor_card_peer.so";

/// c = a · b, or c += a · b, of dense bf16 matrices by columns; sums in f32.
struct PeerProduct {
  std::int64_t rows = 0;  ///< of c
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  bool a_transposed = false;
  bool b_transposed = false;
  bool accumulate = false;
  bool f32_result = false;
};

struct PeerTime {
  double seconds = 0;
  std::string problem;  ///< why there is no time; empty when there is
};

struct PeerMemory {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;  ///< 0: it cannot be told
};

/// All take the card as CUDA counts it; none throws.
struct CardPeer {
  /// Of one copy of so many bytes within the card's memory, each read once and written once.
  PeerTime (*copy)(int card, std::int64_t bytes);
  /// Of cuBLASLt's fastest way among those that its heuristics give.
  PeerTime (*product)(int card, const PeerProduct& product);
  PeerMemory (*memory)(int card);
};

}  // namespace athanor

extern "C" {
/// Static, and the same at each call.
const athanor::CardPeer* athanor_card_peer();
}
