// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <SQLiteCpp/Database.h>

#include <filesystem>
#include <string>

namespace athanor {

/// Throws damaged when the database's pages do not hang together. Files over 32 MiB are not walked
/// whole: opening must not take seconds.
void check_pages(SQLite::Database& database);

/// Renames <home>/athanor.db and its companions to athanor.db.damaged-YYYYMMDD-HHMMSS; returns the
/// name.
std::string set_aside(const std::filesystem::path& database);

/// Enters the runs whose folders lie in <home>/runs into an empty database, from their spec.json
/// and checkpoints; later ids begin after the last folder. Returns how many were entered. The
/// caller holds a write transaction.
int enter_runs(SQLite::Database& database, const std::filesystem::path& home);

/// Renames a run's folder from elsewhere on this disk to one in <home>/runs and enters it as
/// enter_runs() does; returns its id. The caller holds a write transaction.
std::int64_t enter_moved_run(SQLite::Database& database, const std::filesystem::path& home,
                             const std::filesystem::path& folder);

/// Held while a damaged database is set aside, so that two programs do not do it one after the
/// other.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace athanor
