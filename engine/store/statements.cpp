// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/store/statements.h"

#include <limits>
#include <string>

namespace athanor {

double real_or_nan(const SQLite::Column& column) {
  return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

std::optional<double> real_or_none(const SQLite::Column& column) {
  if (column.isNull()) return {};
  return column.getDouble();
}

void bind_optional(SQLite::Statement& statement, const char* name, std::optional<double> value) {
  if (value) {
    statement.bind(name, *value);
  } else {
    statement.bind(name);
  }
}

void bind_progress(SQLite::Statement& statement, const RunRecord& record) {
  statement.bind(":status", std::string(name_of(record.status)));
  statement.bind(":problem", record.problem);
  statement.bind(":updated_ms", record.updated_ms);
  statement.bind(":step", record.step);
  statement.bind(":steps", record.steps);
  statement.bind(":tokens", record.tokens);
  statement.bind(":seconds", record.seconds);
  bind_optional(statement, ":loss", record.loss);
  bind_optional(statement, ":validation_loss", record.validation_loss);
  bind_optional(statement, ":best_validation_loss", record.best_validation_loss);
  bind_optional(statement, ":tokens_per_second", record.tokens_per_second);
  statement.bind(":parameters", record.parameters);
  statement.bind(":planned_bytes", record.planned_bytes);
  statement.bind(":peak_resident_bytes", record.peak_resident_bytes);
  statement.bind(":device", record.device);
}

std::int64_t insert_run(SQLite::Database& database, const RunRecord& record) {
  SQLite::Statement statement(database, R"(
    INSERT INTO runs (id, name, status, problem, created_ms, updated_ms, step, steps, tokens, seconds,
      loss, validation_loss, best_validation_loss, tokens_per_second, parameters, planned_bytes,
      peak_resident_bytes, device, spec, tags, notes)
    VALUES (:id, :name, :status, :problem, :created_ms, :updated_ms, :step, :steps, :tokens, :seconds,
      :loss, :validation_loss, :best_validation_loss, :tokens_per_second, :parameters,
      :planned_bytes, :peak_resident_bytes, :device, :spec, :tags, :notes))");
  if (record.id != 0) statement.bind(":id", record.id);
  statement.bind(":name", record.name);
  statement.bind(":created_ms", record.created_ms);
  statement.bind(":spec", record.spec);
  statement.bind(":tags", record.tags);
  statement.bind(":notes", record.notes);
  bind_progress(statement, record);
  statement.exec();
  return database.getLastInsertRowid();
}

void insert_metrics(SQLite::Database& database, std::int64_t run_id,
                    const std::vector<MetricRow>& rows) {
  SQLite::Statement statement(database, R"(
    INSERT OR REPLACE INTO metrics
      (run_id, step, tokens, seconds, loss, learning_rate, gradient_norm, tokens_per_second)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?))");
  statement.bind(1, run_id);
  for (const MetricRow& row : rows) {
    statement.bind(2, row.step);
    statement.bind(3, row.tokens);
    statement.bind(4, row.seconds);
    statement.bind(5, row.loss);
    statement.bind(6, row.learning_rate);
    statement.bind(7, row.gradient_norm);
    statement.bind(8, row.tokens_per_second);
    statement.exec();
    statement.reset();
  }
}

void insert_evaluation(SQLite::Database& database, std::int64_t run_id, const EvaluationRow& row) {
  SQLite::Statement statement(database, R"(
    INSERT OR REPLACE INTO evaluations (run_id, step, tokens, seconds, loss, bits_per_byte)
    VALUES (:run_id, :step, :tokens, :seconds, :loss, :bits_per_byte))");
  statement.bind(":run_id", run_id);
  statement.bind(":step", row.step);
  statement.bind(":tokens", row.tokens);
  statement.bind(":seconds", row.seconds);
  statement.bind(":loss", row.loss);
  statement.bind(":bits_per_byte", row.bits_per_byte);
  statement.exec();
}

void insert_checkpoint(SQLite::Database& database, std::int64_t run_id, const CheckpointRow& row) {
  if (row.best) {
    SQLite::Statement clear(database, "UPDATE checkpoints SET best = 0 WHERE run_id = :run_id");
    clear.bind(":run_id", run_id);
    clear.exec();
  }
  SQLite::Statement statement(database, R"(
    INSERT OR REPLACE INTO checkpoints (run_id, step, path, time_ms, validation_loss, best)
    VALUES (:run_id, :step, :path, :time_ms, :validation_loss, :best))");
  statement.bind(":run_id", run_id);
  statement.bind(":step", row.step);
  statement.bind(":path", row.path);
  statement.bind(":time_ms", row.time_ms);
  bind_optional(statement, ":validation_loss", row.validation_loss);
  statement.bind(":best", row.best ? 1 : 0);
  statement.exec();
}

}  // namespace athanor
