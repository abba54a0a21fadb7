// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/store/run_store.h"

namespace athanor {

namespace {
std::filesystem::path lock_file(const std::filesystem::path& run_folder) {
  return run_folder / "lock";
}

struct flock whole_file() {
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  return request;
}
}  // namespace

// Locks of the open file description: two sessions of one process exclude each other too, and
// asking who holds one does not take it.
RunLock::RunLock(const std::filesystem::path& run_folder) {
  create_folders(run_folder);
  const std::string path = lock_file(run_folder).string();
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw file_error("open", path, errno);
  struct flock request = whole_file();
  if (::fcntl(descriptor_, F_OFD_SETLK, &request) == 0) return;
  const int error = errno;
  ::close(descriptor_);
  if (error == EAGAIN || error == EACCES) {
    throw Error(ErrorKind::busy, "The run in " + run_folder.string() +
                                     " is being trained by another Athanor already. Stop it there "
                                     "first, or wait until it has finished.");
  }
  throw file_error("lock", path, error);
}

RunLock::~RunLock() {
  ::close(descriptor_);
}

bool RunLock::held_by_anyone(const std::filesystem::path& run_folder) {
  const int descriptor = ::open(lock_file(run_folder).c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock request = whole_file();
  const int result = ::fcntl(descriptor, F_OFD_GETLK, &request);
  ::close(descriptor);
  return result == 0 && request.l_type != F_UNLCK;
}

}  // namespace athanor
