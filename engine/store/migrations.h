// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <SQLiteCpp/Database.h>

namespace athanor {

/// The schema's version is kept in PRAGMA user_version; 0 is an empty file.
int schema_version(SQLite::Database& database);
int newest_schema_version();

/// Takes the schema from its version to the newest, one numbered step after another. The caller
/// holds a write transaction. Returns the version found.
int migrate(SQLite::Database& database);

}  // namespace athanor
