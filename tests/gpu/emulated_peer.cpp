// SPDX-License-Identifier: GPL-3.0-or-later
// Stands in for libathanor_card_peer.so where the emulated plug-in is a card: times of the
// processor, of no meaning.
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/gpu/card_peer.h"

namespace athanor {
namespace {

PeerTime copy(int, std::int64_t bytes) {
  const std::vector<char> from(static_cast<std::size_t>(bytes), 1);
  std::vector<char> to(from.size());
  const auto begin = std::chrono::steady_clock::now();
  std::memcpy(to.data(), from.data(), from.size());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return {.seconds = taken.count() + to.back() * 1e-9, .problem = {}};
}

/// As many multiplications as the product has.
PeerTime product(int, const PeerProduct& p) {
  const auto begin = std::chrono::steady_clock::now();
  volatile float sum = 0;
  for (std::int64_t i = 0; i < p.rows * p.columns * p.depth; ++i)
    sum = sum + 1.0F;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return {.seconds = taken.count(), .problem = {}};
}

PeerMemory memory(int) {
  return {};
}

constexpr CardPeer kPeer{.copy = copy, .product = product, .memory = memory};

}  // namespace
}  // namespace athanor

const athanor::CardPeer* athanor_card_peer() {
  return &athanor::kPeer;
}
