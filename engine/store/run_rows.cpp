// SPDX-License-Identifier: GPL-3.0-or-later
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>

#include "engine/base/json.h"
#include "engine/store/run_store.h"
#include "engine/store/statements.h"
#include "engine/store/store_errors.h"

namespace athanor {

namespace {

/// Of a query whose first columns are those of a MetricRow, in its order.
MetricRow metric_row(SQLite::Statement& query) {
  return {.step = query.getColumn(0),
          .tokens = query.getColumn(1),
          .seconds = real_or_nan(query.getColumn(2)),
          .loss = real_or_nan(query.getColumn(3)),
          .learning_rate = real_or_nan(query.getColumn(4)),
          .gradient_norm = real_or_nan(query.getColumn(5)),
          .tokens_per_second = real_or_nan(query.getColumn(6))};
}

}  // namespace

void RunStore::append(std::int64_t run_id, const std::vector<MetricRow>& rows) {
  if (rows.empty()) return;
  guarded(*database_, [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    insert_metrics(*database_, run_id, rows);
    transaction.commit();
  });
}

void RunStore::append(std::int64_t run_id, const EvaluationRow& row) {
  guarded(*database_, [&] { insert_evaluation(*database_, run_id, row); });
}

void RunStore::append(std::int64_t run_id, const EventRow& row) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      INSERT INTO events (run_id, time_ms, step, kind, text)
      VALUES (:run_id, :time_ms, :step, :kind, :text))");
    statement.bind(":run_id", run_id);
    statement.bind(":time_ms", row.time_ms);
    statement.bind(":step", row.step);
    statement.bind(":kind", row.kind);
    statement.bind(":text", row.text);
    statement.exec();
  });
}

void RunStore::append(std::int64_t run_id, const CheckpointRow& row) {
  guarded(*database_, [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    insert_checkpoint(*database_, run_id, row);
    transaction.commit();
  });
}

void RunStore::append(std::int64_t run_id, const RehearsalRow& row) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      INSERT OR REPLACE INTO rehearsals (run_id, planned_bytes, taken_bytes, outside_bytes,
        predicted_tokens_per_second, tokens_per_second, step_seconds)
      VALUES (:run_id, :planned_bytes, :taken_bytes, :outside_bytes, :predicted,
        :tokens_per_second, :step_seconds))");
    statement.bind(":run_id", run_id);
    statement.bind(":planned_bytes", row.planned_bytes);
    statement.bind(":taken_bytes", row.taken_bytes);
    statement.bind(":outside_bytes", row.outside_bytes);
    bind_optional(statement, ":predicted", row.predicted_tokens_per_second);
    statement.bind(":tokens_per_second", row.tokens_per_second);
    statement.bind(":step_seconds", row.step_seconds);
    statement.exec();
  });
}

std::optional<RehearsalRow> RunStore::rehearsal(std::int64_t run_id) const {
  return guarded(*database_, [&]() -> std::optional<RehearsalRow> {
    SQLite::Statement query(*database_, R"(
      SELECT planned_bytes, taken_bytes, outside_bytes, predicted_tokens_per_second,
        tokens_per_second, step_seconds FROM rehearsals WHERE run_id = :run_id)");
    query.bind(":run_id", run_id);
    if (!query.executeStep()) return {};
    return RehearsalRow{.planned_bytes = query.getColumn(0),
                        .taken_bytes = query.getColumn(1),
                        .outside_bytes = query.getColumn(2),
                        .predicted_tokens_per_second = real_or_none(query.getColumn(3)),
                        .tokens_per_second = real_or_nan(query.getColumn(4)),
                        .step_seconds = real_or_nan(query.getColumn(5))};
  });
}

void RunStore::truncate_after(std::int64_t run_id, std::int64_t step) {
  guarded(*database_, [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement keep(*database_, R"(
      INSERT INTO abandoned_metrics
      SELECT run_id,
        (SELECT COALESCE(MAX(tail), 0) + 1 FROM abandoned_metrics WHERE run_id = :run_id),
        step, tokens, seconds, loss, learning_rate, gradient_norm, tokens_per_second
      FROM metrics WHERE run_id = :run_id AND step > :step)");
    keep.bind(":run_id", run_id);
    keep.bind(":step", step);
    keep.exec();
    for (const char* table : {"metrics", "evaluations", "checkpoints", "measurements"}) {
      SQLite::Statement statement(*database_, std::string("DELETE FROM ") + table +
                                                  " WHERE run_id = :run_id AND step > :step");
      statement.bind(":run_id", run_id);
      statement.bind(":step", step);
      statement.exec();
    }
    transaction.commit();
  });
}

void RunStore::keep_checkpoints(std::int64_t run_id, const std::vector<std::int64_t>& steps) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      DELETE FROM checkpoints WHERE run_id = :run_id
        AND step NOT IN (SELECT value FROM json_each(:steps)))");
    statement.bind(":run_id", run_id);
    statement.bind(":steps", Json(steps).dump());
    statement.exec();
  });
}

std::vector<MetricRow> RunStore::metrics(std::int64_t run_id, std::int64_t after_step) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT step, tokens, seconds, loss, learning_rate, gradient_norm, tokens_per_second
      FROM metrics WHERE run_id = :run_id AND step > :after_step ORDER BY step)");
    query.bind(":run_id", run_id);
    query.bind(":after_step", after_step);
    std::vector<MetricRow> rows;
    while (query.executeStep())
      rows.push_back(metric_row(query));
    return rows;
  });
}

std::vector<std::vector<MetricRow>> RunStore::abandoned_tails(std::int64_t run_id) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT step, tokens, seconds, loss, learning_rate, gradient_norm, tokens_per_second, tail
      FROM abandoned_metrics WHERE run_id = :run_id ORDER BY tail, step)");
    query.bind(":run_id", run_id);
    std::vector<std::vector<MetricRow>> tails;
    std::int64_t tail = 0;
    while (query.executeStep()) {
      if (const std::int64_t found = query.getColumn(7); tails.empty() || found != tail) {
        tail = found;
        tails.emplace_back();
      }
      tails.back().push_back(metric_row(query));
    }
    return tails;
  });
}

std::vector<EvaluationRow> RunStore::evaluations(std::int64_t run_id,
                                                 std::int64_t after_step) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT step, tokens, seconds, loss, bits_per_byte
      FROM evaluations WHERE run_id = :run_id AND step > :after_step ORDER BY step)");
    query.bind(":run_id", run_id);
    query.bind(":after_step", after_step);
    std::vector<EvaluationRow> rows;
    while (query.executeStep()) {
      rows.push_back({.step = query.getColumn(0),
                      .tokens = query.getColumn(1),
                      .seconds = real_or_nan(query.getColumn(2)),
                      .loss = real_or_nan(query.getColumn(3)),
                      .bits_per_byte = real_or_nan(query.getColumn(4))});
    }
    return rows;
  });
}

std::vector<EventRow> RunStore::events(std::int64_t run_id) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(
        *database_,
        "SELECT time_ms, step, kind, text FROM events WHERE run_id = :run_id ORDER BY id");
    query.bind(":run_id", run_id);
    std::vector<EventRow> rows;
    while (query.executeStep()) {
      rows.push_back({.time_ms = query.getColumn(0),
                      .step = query.getColumn(1),
                      .kind = query.getColumn(2),
                      .text = query.getColumn(3)});
    }
    return rows;
  });
}

std::vector<CheckpointRow> RunStore::checkpoints(std::int64_t run_id) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT step, path, time_ms, validation_loss, best
      FROM checkpoints WHERE run_id = :run_id ORDER BY step)");
    query.bind(":run_id", run_id);
    std::vector<CheckpointRow> rows;
    while (query.executeStep()) {
      rows.push_back({.step = query.getColumn(0),
                      .path = query.getColumn(1),
                      .time_ms = query.getColumn(2),
                      .validation_loss = real_or_none(query.getColumn(3)),
                      .best = query.getColumn(4).getInt() != 0});
    }
    return rows;
  });
}

}  // namespace athanor
