// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/backend/cuda/emulation/call_site.h"

namespace athanor::cuda::emulation {

/// The copies that a thread began and did not wait for yet. They land as late as a card may let
/// them: until then their places hold poison.
class AsyncCopies {
 public:
  static constexpr std::size_t kCopy_bytes = 16;

  /// Copies from `global`, or zeros when that is null.
  void begin(void* shared, const void* global, const CallSite& site);
  void commit() { ++group_; }
  /// Lands all but the latest `pending` groups. Gives where the first copy was begun whose place
  /// was written to meanwhile, or null.
  const CallSite* wait(int pending);
  /// Where the first copy that never landed was begun, or null.
  const CallSite* first() const { return copies_.empty() ? nullptr : &copies_.front().site; }
  void clear() {
    copies_.clear();
    group_ = 0;
  }

 private:
  struct Copy {
    void* shared;
    std::array<std::byte, kCopy_bytes> content;
    int group;
    CallSite site;
  };
  std::vector<Copy> copies_;
  int group_ = 0;  ///< the one that copies join
  CallSite damaged_;
};

}  // namespace athanor::cuda::emulation
