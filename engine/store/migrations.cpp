// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/store/migrations.h"

#include <array>
#include <string>

namespace athanor {

namespace {

// Real columns may hold NULL: that is what SQLite makes of a value that is not a number.
constexpr const char* kRunsAndTheirRows = R"(
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    problem TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    step INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    seconds REAL,
    loss REAL,
    validation_loss REAL,
    best_validation_loss REAL,
    tokens_per_second REAL,
    parameters INTEGER NOT NULL,
    planned_bytes INTEGER NOT NULL,
    peak_resident_bytes INTEGER NOT NULL,
    device TEXT NOT NULL,
    spec TEXT NOT NULL);
  CREATE TABLE metrics (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    seconds REAL,
    loss REAL,
    learning_rate REAL,
    gradient_norm REAL,
    tokens_per_second REAL,
    PRIMARY KEY (run_id, step)) WITHOUT ROWID;
  CREATE TABLE evaluations (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    seconds REAL,
    loss REAL,
    bits_per_byte REAL,
    PRIMARY KEY (run_id, step)) WITHOUT ROWID;
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    time_ms INTEGER NOT NULL,
    step INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL);
  CREATE INDEX events_of_run ON events(run_id);
  CREATE TABLE checkpoints (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    path TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    validation_loss REAL,
    best INTEGER NOT NULL,
    PRIMARY KEY (run_id, step)) WITHOUT ROWID;
)";

constexpr const char* kConversations = R"(
  CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    checkpoint_step INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    title TEXT NOT NULL);
  CREATE INDEX conversations_of_run ON conversations(run_id);
  CREATE TABLE turns (
    id INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    note TEXT NOT NULL);
  CREATE INDEX turns_of_conversation ON turns(conversation_id);
)";

constexpr const char* kRehearsals = R"(
  CREATE TABLE rehearsals (
    run_id INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    planned_bytes INTEGER NOT NULL,
    taken_bytes INTEGER NOT NULL,
    outside_bytes INTEGER NOT NULL,
    predicted_tokens_per_second REAL,
    tokens_per_second REAL,
    step_seconds REAL);
)";

constexpr const char* kTailsAndNotes = R"(
  ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT '';
  ALTER TABLE runs ADD COLUMN notes TEXT NOT NULL DEFAULT '';
  CREATE TABLE abandoned_metrics (
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    tail INTEGER NOT NULL,
    step INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    seconds REAL,
    loss REAL,
    learning_rate REAL,
    gradient_norm REAL,
    tokens_per_second REAL,
    PRIMARY KEY (run_id, tail, step)) WITHOUT ROWID;
)";

constexpr const char* kTokensAndPrompts = R"(
  ALTER TABLE turns ADD COLUMN tokens TEXT NOT NULL DEFAULT '';
  CREATE TABLE prompts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
)";

constexpr const char* kMeasurements = R"(
  CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    file TEXT NOT NULL,
    items INTEGER NOT NULL,
    value REAL NOT NULL,
    second_value REAL NOT NULL);
  CREATE INDEX measurements_of_run ON measurements(run_id);
)";

/// Step i leads from version i to i + 1. Only ever add to the end.
constexpr std::array kSteps = {kRunsAndTheirRows, kConversations,    kRehearsals,
                               kTailsAndNotes,    kTokensAndPrompts, kMeasurements};

}  // namespace

int schema_version(SQLite::Database& database) {
  return database.execAndGet("PRAGMA user_version").getInt();
}

int newest_schema_version() {
  return static_cast<int>(kSteps.size());
}

int migrate(SQLite::Database& database) {
  const int found = schema_version(database);
  for (std::size_t version = static_cast<std::size_t>(found); version < kSteps.size(); ++version) {
    database.exec(kSteps[version]);
    database.exec("PRAGMA user_version = " + std::to_string(version + 1));
  }
  return found;
}

}  // namespace athanor
