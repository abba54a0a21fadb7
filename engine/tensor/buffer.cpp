// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tensor/buffer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "engine/base/error.h"

namespace athanor {

Buffer::Buffer(std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw Error(ErrorKind::io,
                "This machine did not give the " + std::to_string(bytes >> 20) +
                    " MiB that are needed. Close other programs, or choose a smaller model, "
                    "context or batch.",
                system_error_text(errno));
  }
  // Advice only: without huge pages everything works the same.
  ::madvise(address, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(address);
}

Buffer Buffer::in_file(const std::filesystem::path& folder, std::int64_t bytes) {
  const auto refuse = [&](int error) {
    throw Error(ErrorKind::io, "The folder " + folder.string() + " did not take the " +
                                   std::to_string(bytes >> 20) +
                                   " MiB that are offloaded to it: " + system_error_text(error) +
                                   ". Make room there, or offload less.");
  };
  std::string name = (folder / "offload-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) refuse(errno);
  ::unlink(name.c_str());
  // Reserved now: a hole that cannot be filled later would end the process.
  const int error = ::posix_fallocate(file, 0, bytes);
  void* address = error != 0 ? MAP_FAILED
                             : ::mmap(nullptr, static_cast<std::size_t>(bytes),
                                      PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int map_error = errno;
  ::close(file);
  if (error != 0) refuse(error);
  if (address == MAP_FAILED) refuse(map_error);
  Buffer buffer;
  buffer.data_ = static_cast<std::byte*>(address);
  buffer.bytes_ = bytes;
  return buffer;
}

void Buffer::flush() const {
  if (release_ != nullptr) return;
  ::msync(data_, static_cast<std::size_t>(bytes_), MS_SYNC);
  ::madvise(data_, static_cast<std::size_t>(bytes_), MADV_PAGEOUT);
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (release_ != nullptr) {
    release_(data_, bytes_);
  } else {
    ::munmap(data_, static_cast<std::size_t>(bytes_));
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      release_(other.release_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(release_, other.release_);
  return *this;
}

}  // namespace athanor
