// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace athanor {

/// A regular file mapped read-only for as long as the object lives. Throws file_error when it
/// cannot be opened and invalid_argument when it is not a regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  /// Gives the memory of what was looked at back; it is read again when it is looked at again.
  void release() const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Writes a file beside its final place and puts it there in one step: after a crash the old
/// content or the new is there, never a mixture. Without commit() nothing is left behind. Every
/// failure, a full disk too, throws file_error naming the final path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Overwrites bytes written before, such as a header completed at the end.
  void write_at(std::int64_t offset, std::span<const std::byte> bytes);
  /// Reads back bytes written before.
  void read_at(std::int64_t offset, std::span<std::byte> out) const;
  /// Syncs to disk and renames into place.
  void commit();
  /// Renames into place only: for a file of a folder that sync_files() makes durable as a whole.
  void place();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  int descriptor_ = -1;
};

/// The whole of a small file. Refuses more than `limit_bytes` with a sentence naming the file.
std::string read_small_file(const std::filesystem::path& path, std::int64_t limit_bytes = 64 << 20);

void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Makes a rename or a new entry in `folder` durable.
void sync_folder(const std::filesystem::path& folder);

/// Makes the files in `folder` durable, and the folder itself.
void sync_files(const std::filesystem::path& folder);

/// Creates a folder with its parents; throws file_error.
void create_folders(const std::filesystem::path& folder);

/// Free bytes for this user on the disk that holds `path` (or its nearest existing parent).
std::int64_t free_disk_bytes(const std::filesystem::path& path);

/// Throws io when fewer are free where `folder` is; `purpose` goes into the sentence: "to save a
/// checkpoint".
void require_free_disk_bytes(const std::filesystem::path& folder, std::int64_t bytes,
                             const std::string& purpose);

}  // namespace athanor
