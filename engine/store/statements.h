// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <cstdint>
#include <optional>

#include "engine/store/run_store.h"

namespace athanor {

/// A value that is not a number is NULL in the database.
double real_or_nan(const SQLite::Column& column);
std::optional<double> real_or_none(const SQLite::Column& column);
void bind_optional(SQLite::Statement& statement, const char* name, std::optional<double> value);

/// Everything of a run but id, name, created_ms and spec.
void bind_progress(SQLite::Statement& statement, const RunRecord& record);
/// With record.id where it is not 0, else with the next one; returns the id.
std::int64_t insert_run(SQLite::Database& database, const RunRecord& record);
/// Rows of steps already there are replaced.
void insert_metrics(SQLite::Database& database, std::int64_t run_id,
                    const std::vector<MetricRow>& rows);
void insert_evaluation(SQLite::Database& database, std::int64_t run_id, const EvaluationRow& row);
/// Replaces the checkpoint of the same step; a best one takes that mark from the others.
void insert_checkpoint(SQLite::Database& database, std::int64_t run_id, const CheckpointRow& row);

}  // namespace athanor
