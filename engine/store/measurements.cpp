// SPDX-License-Identifier: GPL-3.0-or-later
#include <SQLiteCpp/Statement.h>

#include "engine/store/run_store.h"
#include "engine/store/store_errors.h"

namespace athanor {

void RunStore::append(std::int64_t run_id, const MeasurementRow& row) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      INSERT INTO measurements (run_id, step, time_ms, kind, file, items, value, second_value)
      VALUES (:run_id, :step, :time_ms, :kind, :file, :items, :value, :second_value))");
    statement.bind(":run_id", run_id);
    statement.bind(":step", row.step);
    statement.bind(":time_ms", row.time_ms);
    statement.bind(":kind", row.kind);
    statement.bind(":file", row.file);
    statement.bind(":items", row.items);
    statement.bind(":value", row.value);
    statement.bind(":second_value", row.second_value);
    statement.exec();
  });
}

std::vector<MeasurementRow> RunStore::measurements(std::int64_t run_id) const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, R"(
      SELECT step, time_ms, kind, file, items, value, second_value FROM measurements
      WHERE run_id = :run_id ORDER BY id)");
    query.bind(":run_id", run_id);
    std::vector<MeasurementRow> rows;
    while (query.executeStep()) {
      rows.push_back({.step = query.getColumn(0),
                      .time_ms = query.getColumn(1),
                      .kind = query.getColumn(2),
                      .file = query.getColumn(3),
                      .items = query.getColumn(4),
                      .value = query.getColumn(5),
                      .second_value = query.getColumn(6)});
    }
    return rows;
  });
}

}  // namespace athanor
