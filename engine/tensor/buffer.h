// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace athanor {

/// Zeroed memory in pages of its own, given back on destruction.
class Buffer {
 public:
  /// Gives memory back to whatever it is from.
  using Release = void (*)(std::byte* data, std::int64_t bytes);

  Buffer() = default;
  /// Takes over memory that is not this process's own pages, such as a card's.
  Buffer(std::byte* data, std::int64_t bytes, Release release)
      : data_(data), bytes_(bytes), release_(release) {}
  /// Throws io (out of memory) with the amount. Asks for huge pages where the system has them.
  explicit Buffer(std::int64_t bytes);
  /// Pages of a file in `folder` that has no name and goes with the buffer, also when the process
  /// is killed: the system writes them out when memory runs short. Throws io naming the folder when
  /// it has not `bytes` left.
  static Buffer in_file(const std::filesystem::path& folder, std::int64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Writes a file's pages out and forgets them, so that they are read again from the drive; of
  /// other memory does nothing.
  void flush() const;

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, static_cast<std::size_t>(bytes_)}; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Release release_ = nullptr;  ///< null: pages to unmap
};

}  // namespace athanor
