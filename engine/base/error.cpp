// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace athanor {

std::string system_error_text(int error_number) {
  return std::generic_category().message(error_number);
}

namespace {
bool is_reading(const std::string& action) {
  return action.starts_with("open") || action.starts_with("read");
}

std::string next_step(const std::string& action, int error_number) {
  switch (error_number) {
    case ENOENT:
      return "Check the name, or whether the file was moved.";
    case EACCES:
    case EPERM:
    case EROFS:
      return is_reading(action) ? "Check the permissions, or choose another file or folder."
                                : "Check the permissions, or choose another place.";
    case ENOSPC:
    case EDQUOT:
      return "Free some space on that disk.";
    case ENOMEM:
      return "Close other programs and try again.";
    case EISDIR:
      return "It is a folder; choose a file.";
    default:
      return "Check the disk and try again.";
  }
}
}  // namespace

Error file_error(const std::string& action, const std::string& path, int error_number) {
  const ErrorKind kind = error_number == ENOENT ? ErrorKind::not_found : ErrorKind::io;
  return Error(kind,
               fmt::format("Cannot {} {}: {}. {}", action, path, system_error_text(error_number),
                           next_step(action, error_number)),
               fmt::format("errno {}", error_number));
}

}  // namespace athanor
