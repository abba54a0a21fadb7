// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>

#include "engine/backend/backend.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// Brings parts of tensors from the host tier to the device and takes them back. There are two
/// halves, so that a device can fill one while it works on the other.
class Staging {
 public:
  /// Borrows both halves; with `half_bytes` 0 nothing may be brought.
  Staging(Backend& backend, Arena& arena, std::int64_t half_bytes);

  /// What was brought to `half` before is forgotten.
  void begin(int half);
  /// A copy of `part` in the half begun last. If it `changes`, take_back() writes it to `part`.
  Tensor bring(const Tensor& part, bool changes);
  void take_back(int half);

  /// What a part takes of a half.
  static std::int64_t bytes_of(const Tensor& part);

 private:
  /// Gradients, a master copy, and two moments with their scales.
  static constexpr std::size_t kMost_parts = 6;
  struct Part {
    Tensor staged;
    Tensor host;
  };
  struct Half {
    Tensor memory;
    std::int64_t used_bytes = 0;
    std::array<Part, kMost_parts> changed;
    std::size_t changes = 0;
  };

  Backend& backend_;
  std::array<Half, 2> halves_;
  int filling_ = 0;
};

}  // namespace athanor
