// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <string>

#include "engine/base/error.h"

namespace athanor {

/// What an SQLite failure on the file `database` means to a person: busy, io, damaged, not_found
/// for a row of a run that does not exist, internal for a statement of ours that is wrong.
Error store_error(const SQLite::Exception& failure, const std::filesystem::path& database);

/// Runs `action` with SQLite's failures turned into Errors.
template <class Action>
auto guarded(const SQLite::Database& database, const Action& action) {
  try {
    return action();
  } catch (const SQLite::Exception& failure) {
    throw store_error(failure, database.getFilename());
  }
}

}  // namespace athanor
