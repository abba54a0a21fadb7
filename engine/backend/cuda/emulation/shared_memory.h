// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/cuda/emulation/call_site.h"

namespace athanor::cuda::emulation {

/// What ATHANOR_SHARED declares; its address tells one from another.
struct SharedVariable {
  const char* name = "";
  std::size_t bytes = 0;
  CallSite site;
};

/// The shared memory of the block that runs. What nobody wrote yet holds the bytes 0xFF: not a
/// number as a float or bf16, and −1. Each variable stands between guards whose bytes are looked
/// at when the block ends; AddressSanitizer stops whoever touches them.
class SharedMemory {
 public:
  static constexpr std::size_t kStatic_limit_bytes = 48 * 1024;  ///< CUDA's own
  static constexpr int kPoison = 0xFF;

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Of the launch whose blocks follow. `limit_bytes` is of static and dynamic memory together.
  void set_sizes(std::size_t dynamic_bytes, std::size_t limit_bytes);
  void begin_block();
  /// What was written outside of a variable, as a sentence's end; empty when nothing was.
  std::string end_block();

  /// Null when there is no room: full() then says why.
  void* variable(const SharedVariable& variable);
  std::string full(const SharedVariable& variable) const;
  void* dynamic() const { return dynamic_; }
  std::size_t dynamic_bytes() const { return dynamic_bytes_; }
  /// Whether all of it lies in one variable of the block, or in its dynamic memory.
  bool holds(const void* begin, std::size_t bytes) const;

 private:
  struct Placed {
    const SharedVariable* variable;
    std::byte* begin;
  };
  struct Freed {
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, Freed> static_slab_;
  std::unique_ptr<std::byte, Freed> dynamic_slab_;
  std::size_t dynamic_slab_bytes_ = 0;
  std::vector<Placed> placed_;
  std::byte* free_ = nullptr;  ///< where the next variable's place begins, past a guard
  std::size_t static_bytes_ = 0;
  std::byte* dynamic_ = nullptr;
  std::size_t dynamic_bytes_ = 0;
  std::size_t limit_bytes_ = 0;
};

}  // namespace athanor::cuda::emulation
