// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/input_file.h"

namespace athanor {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const InputFile file(path);
  size_ = static_cast<std::size_t>(file.size());
  if (size_ == 0) return;
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED) throw file_error("read", path.string(), errno);
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release() const {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), partial_(path_.string() + ".partial-" + std::to_string(::getpid())) {
  descriptor_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw file_error("write", path_.string(), errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw file_error("write", path_.string(), errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
  if (written != static_cast<ssize_t>(bytes.size())) {
    throw file_error("write", path_.string(), written < 0 ? errno : ENOSPC);
  }
}

void AtomicFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  const ssize_t got = ::pread(descriptor_, out.data(), out.size(), offset);
  if (got != static_cast<ssize_t>(out.size())) {
    throw file_error("read", path_.string(), got < 0 ? errno : EIO);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw file_error("write", path_.string(), errno);
  place();
  sync_folder(path_.parent_path());
}

void AtomicFile::place() {
  // close() reports what a network file system could not write.
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    const int error_number = errno;
    ::unlink(partial_.c_str());
    throw file_error("write", path_.string(), error_number);
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(partial_.c_str());
    throw file_error("write", path_.string(), error_number);
  }
}

std::string read_small_file(const std::filesystem::path& path, std::int64_t limit_bytes) {
  InputFile file(path);
  if (file.size() > limit_bytes) {
    throw Error(ErrorKind::invalid_argument,
                path.string() + " is far larger than such a file ever is (" +
                    std::to_string(file.size()) + " bytes). Choose another file.");
  }
  std::string content(static_cast<std::size_t>(file.size()), '\0');
  content.resize(file.read(content));
  return content;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path place = folder.empty() ? "." : folder;
  const Descriptor descriptor(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) throw file_error("open folder", place.string(), errno);
  // Some file systems cannot sync a folder; the rename itself has succeeded there.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw file_error("write folder", place.string(), errno);
  }
}

void sync_files(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const Descriptor file(::open(entry->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || ::fsync(file.get()) != 0) {
      throw file_error("write", entry->path().string(), errno);
    }
  }
  if (error) throw file_error("write folder", folder.string(), error.value());
  sync_folder(folder);
}

void create_folders(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw file_error("create folder", folder.string(), error.value());
  if (!std::filesystem::is_directory(folder, error)) {
    throw file_error("create folder", folder.string(), ENOTDIR);
  }
}

std::int64_t free_disk_bytes(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
  }
  const std::filesystem::space_info space = std::filesystem::space(place, error);
  if (error) throw file_error("measure the free space of", place.string(), error.value());
  return static_cast<std::int64_t>(space.available);
}

void require_free_disk_bytes(const std::filesystem::path& folder, std::int64_t bytes,
                             const std::string& purpose) {
  const std::int64_t free_bytes = free_disk_bytes(folder);
  if (free_bytes >= bytes) return;
  constexpr double kMebibyte = 1 << 20;
  throw Error(ErrorKind::io,
              fmt::format("There is too little room {} in {}: it needs {:.1f} MiB and {:.1f} MiB "
                          "are free. Free some space on that disk.",
                          purpose, folder.string(), static_cast<double>(bytes) / kMebibyte,
                          static_cast<double>(free_bytes) / kMebibyte));
}

}  // namespace athanor
