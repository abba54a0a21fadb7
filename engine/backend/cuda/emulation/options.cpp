// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/options.h"

#include <mutex>

namespace athanor::cuda::emulation {
namespace {

struct Chosen {
  std::mutex mutex;
  Options options;
};

Chosen& chosen() {
  static Chosen here;
  return here;
}

Options exchange(const Options& wanted) {
  const std::lock_guard lock(chosen().mutex);
  const Options before = chosen().options;
  chosen().options = wanted;
  return before;
}

Options with_order(ThreadOrder order, std::uint64_t seed) {
  Options wanted = options();
  wanted.order = order;
  wanted.seed = seed;
  return wanted;
}

}  // namespace

Options options() {
  const std::lock_guard lock(chosen().mutex);
  return chosen().options;
}

ThreadOrderScope::ThreadOrderScope(const Options& wanted) : before_(exchange(wanted)) {}

ThreadOrderScope::ThreadOrderScope(ThreadOrder order, std::uint64_t seed)
    : ThreadOrderScope(with_order(order, seed)) {}

ThreadOrderScope::~ThreadOrderScope() {
  exchange(before_);
}

}  // namespace athanor::cuda::emulation
