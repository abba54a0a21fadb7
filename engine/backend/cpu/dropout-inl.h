// SPDX-License-Identifier: GPL-3.0-or-later

/// Dropout's factors for a run of elements, made from their indices alone. Compiled once for each
/// instruction set.
#if defined(ATHANOR_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_DROPOUT_INL_H
#undef ATHANOR_DROPOUT_INL_H
#else
#define ATHANOR_DROPOUT_INL_H
#endif

#include <cmath>

#include "engine/backend/cpu/philox-inl.h"
#include "engine/backend/cpu/vectors-inl.h"
#include "engine/backend/numbers_in_memory.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

/// Gives factors 0 or 1 / (1 − rate) for elements in ascending order.
class DropoutRun {
 public:
  /// The first element asked for will be `first`.
  DropoutRun(const Dropout& dropout, std::int64_t first)
      : dropout_(dropout), next_(static_cast<std::uint64_t>(first)) {
    if (dropout_.rate == 0) return;
    dropout_.stream = stream_of(dropout);
    refill();
  }

  /// Factors of the next `count` ≤ kLanes elements.
  HWY_INLINE FloatVector next(std::int64_t count) {
    if (next_ + static_cast<std::uint64_t>(count) > end_) refill();
    const float* factors = factors_ + (next_ - (end_ - kElements));
    next_ += static_cast<std::uint64_t>(count);
    return load_up_to(factors, count);
  }

 private:
  static constexpr std::uint64_t kElements = 4 * kLanes;

  /// Factors of kElements elements from the block that holds next_ on.
  void refill() {
    HWY_ALIGN std::uint32_t words[kElements];
    philox_words(dropout_.seed, dropout_.stream, next_ / 4, words);
    end_ = next_ / 4 * 4 + kElements;
    const auto threshold =
        static_cast<std::uint32_t>(std::ceil(static_cast<double>(dropout_.rate) * 0x1p32));
    const float scale = 1.0F / (1.0F - dropout_.rate);
    for (std::uint64_t i = 0; i < kElements; ++i)
      factors_[i] = words[i] >= threshold ? scale : 0;
  }

  Dropout dropout_;
  std::uint64_t next_;
  std::uint64_t end_ = 0;
  HWY_ALIGN float factors_[kElements];
};

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
