// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <exception>

namespace athanor {

/// Thrown by long work that saw its CancelToken; not an Error, since nothing went wrong.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

/// A request to stop, set by any thread and polled by the working one at named points.
class CancelToken {
 public:
  void request() { requested_.store(true, std::memory_order_release); }
  void reset() { requested_.store(false, std::memory_order_release); }
  bool requested() const { return requested_.load(std::memory_order_acquire); }
  void throw_if_requested() const {
    if (requested()) throw Cancelled();
  }

 private:
  std::atomic<bool> requested_{false};
};

}  // namespace athanor
