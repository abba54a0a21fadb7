// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace athanor {

/// A file's bytes from first to last, unpacked when it is gzip (RFC 1952) or Zstandard (RFC 8878):
/// told by how it begins, not by its name. Several members or frames after each other are one text.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Throws not_found or io for a file that cannot be opened, invalid_argument for what is no
  /// ordinary file.
  static std::unique_ptr<ByteSource> open(const std::filesystem::path& path);

  /// Fills the front of `out`; returns how much, 0 only at the end. Throws damaged for packed data
  /// that is cut off or wrong, naming the file and how far it was good.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Bytes of the file itself that were used so far.
  virtual std::int64_t disk_bytes() const = 0;
};

}  // namespace athanor
