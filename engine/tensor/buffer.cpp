// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tensor/buffer.h"

#include <sys/mman.h>

#include <cerrno>
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

Buffer::~Buffer() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace athanor
