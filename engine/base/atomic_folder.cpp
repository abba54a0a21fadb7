// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/atomic_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

/// Without the "/" that a folder's name may end in, so that names can be made of it.
fs::path without_slash(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

void check_place(const fs::path& place) {
  std::error_code error;
  if (!fs::exists(place, error)) return;
  if (fs::is_directory(place, error) && fs::is_empty(place, error) && !error) return;
  throw Error(ErrorKind::invalid_argument,
              place.string() + " exists already. Choose a new folder; nothing is overwritten.");
}

void check_room(const fs::path& place, std::int64_t needed_bytes) {
  const std::int64_t free_bytes = free_disk_bytes(place);
  if (free_bytes >= needed_bytes) return;
  constexpr double kMebibyte = 1 << 20;
  throw Error(ErrorKind::io,
              fmt::format("There is too little room for {}: it needs {:.1f} MiB and {:.1f} MiB are "
                          "free. Free some space on that disk.",
                          place.string(), static_cast<double>(needed_bytes) / kMebibyte,
                          static_cast<double>(free_bytes) / kMebibyte));
}

}  // namespace

AtomicFolder::AtomicFolder(fs::path place, std::int64_t needed_bytes)
    : place_(without_slash(place)),
      partial_(place_.string() + ".partial-" + std::to_string(::getpid())) {
  check_place(place_);
  check_room(place_, needed_bytes);
  create_folders(partial_);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

void AtomicFolder::commit_as(const fs::path& place) {
  sync_folder(partial_);
  std::error_code error;
  fs::rename(partial_, place, error);
  if (error) throw file_error("write", place.string(), error.value());
  sync_folder(place.parent_path());
}

}  // namespace athanor
