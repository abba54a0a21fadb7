// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/store/store_errors.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace athanor {

namespace {
bool is_damage(const SQLite::Exception& failure) {
  const int code = failure.getErrorCode();
  return code == SQLITE_NOTADB || code == SQLITE_CORRUPT ||
         failure.getExtendedErrorCode() == SQLITE_IOERR_SHORT_READ;
}
}  // namespace

Error store_error(const SQLite::Exception& failure, const std::filesystem::path& database) {
  const std::string file = database.string();
  const std::string context = fmt::format("SQLite error {} ({}): {}", failure.getErrorCode(),
                                          failure.getExtendedErrorCode(), failure.what());
  if (is_damage(failure)) {
    return Error(ErrorKind::damaged,
                 "Athanor's run list (" + file +
                     ") is damaged. Close Athanor and move that file elsewhere: a new list is then "
                     "made from the runs' own folders.",
                 failure.what());
  }
  switch (failure.getErrorCode()) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(ErrorKind::busy,
                   "Another program is using Athanor's run list (" + file +
                       ") and has not let go of it for 5 seconds. Close it, or try again later.",
                   context);
    case SQLITE_FULL:
      return Error(ErrorKind::io,
                   "The disk is full: Athanor's run list (" + file +
                       ") cannot grow. Free some space on that disk.",
                   context);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Error(ErrorKind::io,
                   "Athanor's run list (" + file +
                       ") cannot be opened for writing. Check the permissions, or choose another "
                       "folder for Athanor's files.",
                   context);
    case SQLITE_CONSTRAINT:
      return Error(ErrorKind::not_found,
                   "That run is no longer in Athanor's run list (" + file +
                       "): it was deleted meanwhile. Choose another one.",
                   context);
    case SQLITE_IOERR:
      return Error(ErrorKind::io,
                   "Athanor's run list (" + file +
                       ") cannot be read or written. Check the disk and try again.",
                   context);
    default:
      return Error(ErrorKind::internal,
                   "Athanor's run list (" + file +
                       ") refused a request; this is a fault in Athanor. Please report it with the "
                       "details.",
                   context);
  }
}

}  // namespace athanor
