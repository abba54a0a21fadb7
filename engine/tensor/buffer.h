// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace athanor {

/// Zeroed memory in pages of its own, given back on destruction. Throws io (out of memory) with the
/// amount. Asks for huge pages where the system has them.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, static_cast<std::size_t>(bytes_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace athanor
