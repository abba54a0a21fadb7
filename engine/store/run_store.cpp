// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/store/run_store.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <thread>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/store/migrations.h"
#include "engine/store/recovery.h"
#include "engine/store/statements.h"
#include "engine/store/store_errors.h"

namespace athanor {

namespace {

constexpr int kBusyTimeout_ms = 5000;

constexpr std::array<std::string_view, 7> kStatusNames = {
    "preparing", "running", "paused", "interrupted", "finished", "failed", "stopped"};

RunStatus status_of(std::string_view name) {
  const auto found = std::ranges::find(kStatusNames, name);
  if (found == kStatusNames.end()) return RunStatus::interrupted;
  return static_cast<RunStatus>(found - kStatusNames.begin());
}

constexpr const char* kSelectRuns = R"(
  SELECT id, name, status, problem, created_ms, updated_ms, step, steps, tokens, seconds, loss,
    validation_loss, best_validation_loss, tokens_per_second, parameters, planned_bytes,
    peak_resident_bytes, device, spec, tags, notes FROM runs )";

RunRecord read_run(SQLite::Statement& query) {
  return {.id = query.getColumn(0),
          .name = query.getColumn(1),
          .status = status_of(query.getColumn(2).getString()),
          .problem = query.getColumn(3),
          .created_ms = query.getColumn(4),
          .updated_ms = query.getColumn(5),
          .step = query.getColumn(6),
          .steps = query.getColumn(7),
          .tokens = query.getColumn(8),
          .seconds = real_or_nan(query.getColumn(9)),
          .loss = real_or_none(query.getColumn(10)),
          .validation_loss = real_or_none(query.getColumn(11)),
          .best_validation_loss = real_or_none(query.getColumn(12)),
          .tokens_per_second = real_or_none(query.getColumn(13)),
          .parameters = query.getColumn(14),
          .planned_bytes = query.getColumn(15),
          .peak_resident_bytes = query.getColumn(16),
          .device = query.getColumn(17),
          .spec = query.getColumn(18),
          .tags = query.getColumn(19),
          .notes = query.getColumn(20)};
}

/// SQLite answers busy at once, without its usual waiting, when two programs make the same file
/// new.
void use_write_ahead_log(SQLite::Database& database) {
  const Stopwatch since;
  while (database.execAndGet("PRAGMA journal_mode").getString() != "wal") {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& failure) {
      if (failure.getErrorCode() != SQLITE_BUSY || since.seconds() * 1e3 > kBusyTimeout_ms) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

void refuse_newer(SQLite::Database& database) {
  if (schema_version(database) <= newest_schema_version()) return;
  throw Error(
      ErrorKind::unsupported,
      fmt::format("Athanor's run list ({}) was written by a newer Athanor (its version is {}, "
                  "this program knows up to {}). Use the newer program, or another folder.",
                  database.getFilename(), schema_version(database), newest_schema_version()));
}

/// What was entered again, and `fate`: where the rest of it is.
std::string entered_again(std::size_t runs, const std::string& fate) {
  if (runs == 0) return "No runs were found in their folders.";
  if (runs == 1) {
    return "1 run was found in its folder and entered again; its conversations are " + fate + ".";
  }
  return fmt::format(
      "{} runs were found in their folders and entered again; their conversations are {}.", runs,
      fate);
}

Error no_such_run(std::int64_t run_id) {
  return Error(
      ErrorKind::not_found,
      fmt::format("There is no run {}. Look at the run list for those that exist.", run_id));
}

}  // namespace

std::string_view name_of(RunStatus status) {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

std::filesystem::path run_folder_in(const std::filesystem::path& home, std::int64_t run_id) {
  return home / "runs" / fmt::format("{:06}", run_id);
}

RunStore::RunStore(const std::filesystem::path& home) : home_(home) {
  create_folders(home_);
  try {
    open();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::damaged) throw;
    recover(error.context());
  }
}

RunStore::~RunStore() = default;

void RunStore::open() {
  const std::filesystem::path file = home_ / "athanor.db";
  try {
    database_ = std::make_unique<SQLite::Database>(
        file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeout_ms);
    refuse_newer(*database_);
    check_pages(*database_);
    use_write_ahead_log(*database_);
    database_->exec("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON");
    if (schema_version(*database_) == newest_schema_version()) return;
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    const bool is_new = migrate(*database_) == 0;
    const int entered = is_new ? enter_runs(*database_, home_) : 0;
    transaction.commit();
    if (entered > 0) {
      recovery_note_ = {.title = "The run list was missing and has been made anew",
                        .text = entered_again(static_cast<std::size_t>(entered), "lost"),
                        .details = {}};
    }
  } catch (const SQLite::Exception& failure) {
    throw store_error(failure, file);
  }
}

void RunStore::recover(const std::string& cause) {
  database_.reset();
  const FolderLock only_one(home_);
  try {
    return open();  // Another program was here first.
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::damaged) throw;
  }
  database_.reset();
  const std::string kept_as = set_aside(home_ / "athanor.db");
  open();
  recovery_note_ = {.title = "The run list was damaged and has been made anew",
                    .text = fmt::format("The old one is kept as {}. {}", (home_ / kept_as).string(),
                                        entered_again(runs().size(), "only in the old file")),
                    .details = cause};
}

std::int64_t RunStore::create_run(const RunRecord& record) {
  return guarded(*database_, [&] {
    RunRecord created = record;
    created.id = 0;
    return insert_run(*database_, created);
  });
}

void RunStore::update_run(const RunRecord& record) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, R"(
      UPDATE runs SET status = :status, problem = :problem, updated_ms = :updated_ms, step = :step,
        steps = :steps, tokens = :tokens, seconds = :seconds, loss = :loss,
        validation_loss = :validation_loss, best_validation_loss = :best_validation_loss,
        tokens_per_second = :tokens_per_second, parameters = :parameters,
        planned_bytes = :planned_bytes, peak_resident_bytes = :peak_resident_bytes, device = :device
      WHERE id = :id)");
    bind_progress(statement, record);
    statement.bind(":id", record.id);
    if (statement.exec() == 0) throw no_such_run(record.id);
  });
}

std::int64_t RunStore::take_over(const std::filesystem::path& folder) {
  create_folders(home_ / "runs");
  return guarded(*database_, [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    const std::int64_t id = enter_moved_run(*database_, home_, folder);
    transaction.commit();
    return id;
  });
}

void RunStore::describe(std::int64_t run_id, const RunDescription& description) {
  guarded(*database_, [&] {
    SQLite::Statement statement(
        *database_, "UPDATE runs SET name = :name, tags = :tags, notes = :notes WHERE id = :id");
    statement.bind(":name", description.name);
    statement.bind(":tags", description.tags);
    statement.bind(":notes", description.notes);
    statement.bind(":id", run_id);
    if (statement.exec() == 0) throw no_such_run(run_id);
  });
  const std::filesystem::path folder = run_folder(run_id);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return;
  write_file_atomically(
      folder / "about.json",
      Json{{"name", description.name}, {"tags", description.tags}, {"notes", description.notes}}
          .dump(2));
}

std::optional<RunRecord> RunStore::run(std::int64_t run_id) const {
  return guarded(*database_, [&]() -> std::optional<RunRecord> {
    SQLite::Statement query(*database_, std::string(kSelectRuns) + "WHERE id = :id");
    query.bind(":id", run_id);
    if (!query.executeStep()) return {};
    return read_run(query);
  });
}

std::vector<RunRecord> RunStore::runs() const {
  return guarded(*database_, [&] {
    SQLite::Statement query(*database_, std::string(kSelectRuns) + "ORDER BY id DESC");
    std::vector<RunRecord> records;
    while (query.executeStep())
      records.push_back(read_run(query));
    return records;
  });
}

void RunStore::delete_run(std::int64_t run_id) {
  guarded(*database_, [&] {
    SQLite::Statement statement(*database_, "DELETE FROM runs WHERE id = :id");
    statement.bind(":id", run_id);
    statement.exec();
  });
}

std::vector<std::int64_t> RunStore::mark_interrupted() {
  std::vector<std::int64_t> interrupted;
  for (const RunRecord& record : runs()) {
    // A run that paused by itself has its problem said and no process; it stays as it is.
    const bool active = record.status == RunStatus::preparing ||
                        record.status == RunStatus::running ||
                        (record.status == RunStatus::paused && record.problem.empty());
    if (!active || RunLock::held_by_anyone(run_folder(record.id))) continue;
    guarded(*database_, [&] {
      // Only if it is still as it was read: its process may have ended it in between.
      SQLite::Statement statement(*database_, R"(
        UPDATE runs SET status = 'interrupted' WHERE id = :id AND status = :status)");
      statement.bind(":id", record.id);
      statement.bind(":status", std::string(name_of(record.status)));
      if (statement.exec() > 0) interrupted.push_back(record.id);
    });
  }
  return interrupted;
}

}  // namespace athanor
