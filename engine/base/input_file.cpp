// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"

namespace athanor {

namespace {

/// Closes a descriptor that the constructor gives up.
[[noreturn]] void give_up(int descriptor, const Error& error) {
  ::close(descriptor);
  throw error;
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path)
    // Non-blocking, so that a named pipe is refused below instead of waited for.
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) throw file_error("open", path.string(), errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    give_up(descriptor_, file_error("read", path.string(), errno));
  }
  if (S_ISDIR(status.st_mode)) give_up(descriptor_, file_error("read", path.string(), EISDIR));
  if (!S_ISREG(status.st_mode)) {
    give_up(descriptor_,
            Error(ErrorKind::invalid_argument,
                  "Cannot read " + path.string() + ": it is not an ordinary file. Choose a file."));
  }
  size_ = status.st_size;
  modified_ns_ = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

std::size_t InputFile::read(std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got = ::read(descriptor_, out.data() + filled, out.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw file_error("read", path_.string(), errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

}  // namespace athanor
