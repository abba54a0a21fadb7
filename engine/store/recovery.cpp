// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/store/recovery.h"

#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/store/curve_files.h"
#include "engine/store/statements.h"

namespace athanor {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kWalkedBytes = 32 << 20;

std::optional<std::int64_t> number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || stop != name.data() + name.size() || number < 0) return {};
  return number;
}

std::int64_t modified_ms(const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  if (error) return now_ms();
  const auto since_1970 = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

/// A checkpoint's validation loss, where its manifest has one.
std::optional<double> noted_loss(const fs::path& checkpoint) {
  try {
    const Json loss =
        read_json_file(checkpoint / "checkpoint.json").value("validation_loss", Json());
    if (loss.is_number()) return loss.get<double>();
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
  return {};
}

/// The folders of checkpoints, ascending by step.
std::vector<CheckpointRow> checkpoints_of(const fs::path& run_folder) {
  std::vector<CheckpointRow> rows;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_folder / "checkpoints", error)) {
    const auto step = number_after("step-", entry.path().filename().string());
    if (!step || !entry.is_directory(error)) continue;
    rows.push_back({.step = *step,
                    .path = entry.path().string(),
                    .time_ms = modified_ms(entry.path()),
                    .validation_loss = noted_loss(entry.path()),
                    .best = false});
  }
  std::ranges::sort(rows, {}, &CheckpointRow::step);
  const auto best = std::ranges::min_element(
      rows, {}, [](const CheckpointRow& row) { return row.validation_loss.value_or(1e300); });
  if (best != rows.end() && best->validation_loss) best->best = true;
  return rows;
}

/// How far a run was, as its newest checkpoint tells; a state that cannot be read tells nothing.
void read_progress(RunRecord& record, const CheckpointRow& newest) {
  record.step = newest.step;
  record.updated_ms = newest.time_ms;
  try {
    const Json state = read_json_file(fs::path(newest.path) / "state.json");
    record.tokens = state.value("tokens", std::int64_t{0});
    record.seconds = state.value("seconds", 0.0);
    if (const double loss = state.value("validation_loss", 0.0); loss > 0) {
      record.validation_loss = loss;
    }
    if (state.contains("best_loss")) record.best_validation_loss = state.value("best_loss", 0.0);
  } catch (const Error&) {
    return;
  } catch (const Json::exception&) {
    return;
  }
}

/// What the user said about a run, where that can be read.
void read_description(RunRecord& record, const fs::path& run_folder) {
  try {
    const Json about = read_json_file(run_folder / "about.json");
    record.name = about.value("name", record.name);
    record.tags = about.value("tags", std::string());
    record.notes = about.value("notes", std::string());
  } catch (const Error&) {
    return;
  } catch (const Json::exception&) {
    return;
  }
}

/// Nothing for a folder without a spec that can be read: there is nothing to show or resume.
std::optional<RunRecord> record_of(const fs::path& run_folder) {
  const fs::path file = run_folder / "spec.json";
  try {
    const Json spec = read_json_file(file);
    RunRecord record;
    record.name = spec.value("name", run_folder.filename().string());
    record.status = RunStatus::interrupted;
    record.created_ms = record.updated_ms = modified_ms(file);
    record.steps = spec.at("train").value("steps", std::int64_t{0});
    record.spec = spec.dump();
    read_description(record, run_folder);
    if (!spec.value("imported_from", std::string()).empty()) {
      record.status = RunStatus::finished;
      record.steps = 0;
    }
    return record;
  } catch (const Error&) {
    return {};
  } catch (const Json::exception&) {
    return {};
  }
}

void enter_last(RunRecord& record, const MetricRow& row) {
  record.step = row.step;
  record.tokens = row.tokens;
  record.seconds = row.seconds;
  record.loss = row.loss;
  record.tokens_per_second = row.tokens_per_second;
}

bool enter_run(SQLite::Database& database, std::int64_t id, const fs::path& folder) {
  std::optional<RunRecord> record = record_of(folder);
  if (!record) return false;
  record->id = id;
  const std::vector<CheckpointRow> rows = checkpoints_of(folder);
  if (!rows.empty()) read_progress(*record, rows.back());
  if (record->steps > 0 && record->step >= record->steps) record->status = RunStatus::finished;
  const CurveFiles history(folder);
  const std::vector<MetricRow> metrics = history.metrics();
  if (!metrics.empty() && metrics.back().step >= record->step) enter_last(*record, metrics.back());
  insert_run(database, *record);
  for (const CheckpointRow& row : rows)
    insert_checkpoint(database, id, row);
  insert_metrics(database, id, metrics);
  for (const EvaluationRow& row : history.evaluations())
    insert_evaluation(database, id, row);
  return true;
}

std::int64_t next_id(SQLite::Database& database, const fs::path& home) {
  std::int64_t id = 1 + database
                            .execAndGet(
                                "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE "
                                "name = 'runs'), 0)")
                            .getInt64();
  std::error_code error;
  while (fs::exists(run_folder_in(home, id), error))
    ++id;
  return id;
}

void begin_ids_after(SQLite::Database& database, std::int64_t id) {
  database.exec("DELETE FROM sqlite_sequence WHERE name = 'runs'");
  SQLite::Statement statement(database,
                              "INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', ?)");
  statement.bind(1, id);
  statement.exec();
}

}  // namespace

void check_pages(SQLite::Database& database) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(database.getFilename(), error);
  if (error || size > kWalkedBytes) return;
  const std::string verdict = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (verdict != "ok") {
    throw Error(ErrorKind::damaged, database.getFilename() + " is damaged: " + verdict, verdict);
  }
}

std::string set_aside(const fs::path& database) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::string stem =
      fmt::format("{}.damaged-{:%Y%m%d-%H%M%S}", database.filename().string(),
                  fmt::localtime(std::chrono::system_clock::to_time_t(seconds)));
  std::string name = stem;
  std::error_code error;
  for (int copy = 2; fs::exists(database.parent_path() / name, error); ++copy) {
    name = fmt::format("{}-{}", stem, copy);
  }
  for (const char* companion : {"-wal", "-shm", ""}) {
    fs::rename(database.string() + companion, (database.parent_path() / name).string() + companion,
               error);
    if (error && error != std::errc::no_such_file_or_directory) {
      throw file_error("set aside the damaged", database.string() + companion, error.value());
    }
  }
  return name;
}

int enter_runs(SQLite::Database& database, const fs::path& home) {
  int entered = 0;
  std::int64_t last_id = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(home / "runs", error)) {
    const auto id = number_after("", entry.path().filename().string());
    if (!id) continue;
    last_id = std::max(last_id, *id);
    if (enter_run(database, *id, entry.path())) ++entered;
  }
  if (last_id > 0) begin_ids_after(database, last_id);
  return entered;
}

std::int64_t enter_moved_run(SQLite::Database& database, const fs::path& home,
                             const fs::path& folder) {
  const std::int64_t id = next_id(database, home);
  const fs::path place = run_folder_in(home, id);
  std::error_code error;
  fs::rename(folder, place, error);
  if (error) throw file_error("move", folder.string(), error.value());
  if (enter_run(database, id, place)) return id;
  fs::rename(place, folder, error);
  throw Error(ErrorKind::damaged, (folder / "spec.json").string() +
                                      " is no run's settings, so this is no run's folder.");
}

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw file_error("open folder", folder.string(), errno);
  while (::flock(descriptor_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int error_number = errno;
    ::close(descriptor_);
    throw file_error("lock folder", folder.string(), error_number);
  }
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace athanor
