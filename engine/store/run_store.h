// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/notice.h"

namespace SQLite {
class Database;
}

namespace athanor {

enum class RunStatus { preparing, running, paused, interrupted, finished, failed, stopped };
std::string_view name_of(RunStatus status);

struct RunRecord {
  std::int64_t id = 0;
  std::string name;
  RunStatus status = RunStatus::preparing;
  std::string problem;          ///< why it failed or paused by itself; empty otherwise
  std::int64_t created_ms = 0;  ///< since 1970 UTC
  std::int64_t updated_ms = 0;
  std::int64_t step = 0;
  std::int64_t steps = 0;  ///< planned
  std::int64_t tokens = 0;
  double seconds = 0;                     ///< spent training
  std::optional<double> loss;             ///< the latest of training
  std::optional<double> validation_loss;  ///< the latest
  std::optional<double> best_validation_loss;
  std::optional<double> tokens_per_second;
  std::int64_t parameters = 0;
  std::int64_t planned_bytes = 0;
  std::int64_t peak_resident_bytes = 0;
  std::string device;
  std::string spec;   ///< the run spec as it was at the start, JSON
  std::string tags;   ///< the user's, separated by commas
  std::string notes;  ///< the user's
};

/// What a user says about a run; also kept in its folder, as about.json.
struct RunDescription {
  std::string name;
  std::string tags;
  std::string notes;
};

/// All values of one step, as they are appended.
struct MetricRow {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  double loss = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;
};

struct EvaluationRow {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  double loss = 0;
  double bits_per_byte = 0;
};

struct EventRow {
  std::int64_t time_ms = 0;
  std::int64_t step = 0;
  std::string
      kind;  ///< "started", "resumed", "paused", "checkpoint_failed", "problem", "finished", …
  std::string text;
};

struct CheckpointRow {
  std::int64_t step = 0;
  std::string path;
  std::int64_t time_ms = 0;
  std::optional<double> validation_loss;
  bool best = false;
};

/// What was planned and what one step really took, before a run of the same settings was started.
struct RehearsalRow {
  std::int64_t planned_bytes = 0;
  std::int64_t taken_bytes = 0;
  std::int64_t outside_bytes = 0;  ///< beside the planned memory
  std::optional<double> predicted_tokens_per_second;
  double tokens_per_second = 0;  ///< measured, like the next
  double step_seconds = 0;
};

/// What a checkpoint was measured to be on a file, beside the run's own evaluations.
struct MeasurementRow {
  std::int64_t step = 0;  ///< of the checkpoint
  std::int64_t time_ms = 0;
  std::string kind;  ///< "perplexity", "choices" or "answers"
  std::string file;
  std::int64_t items = 0;  ///< tokens or questions
  double value = 0;        ///< perplexity, or the share that is right
  double second_value = 0;
};

struct ConversationRow {
  std::int64_t id = 0;
  std::int64_t run_id = 0;
  std::int64_t checkpoint_step = 0;
  std::int64_t created_ms = 0;
  std::string title;
};

struct TurnRow {
  std::string role;  ///< "prompt" or "answer"
  std::string text;
  std::string note;      ///< what is shown below it, e.g. "64 tokens · 3,300 tokens/s"
  std::string tokens{};  ///< of an answer, as the window keeps them; mostly empty
};

/// <home>/runs/000017
std::filesystem::path run_folder_in(const std::filesystem::path& home, std::int64_t run_id);

/// Every run of this machine, in <home>/athanor.db (SQLite, WAL, numbered migrations). One thread
/// owns one RunStore; several processes may have the same file open. Errors: busy when another
/// process holds the database longer than 5 s, io for a full or unwritable disk, damaged never: a
/// damaged file is moved to athanor.db.damaged-<time> and a new one made, which recovery_note()
/// then tells.
class RunStore {
 public:
  /// Opens or creates; migrates older files forward; refuses a newer one (unsupported).
  explicit RunStore(const std::filesystem::path& home);
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  const std::filesystem::path& home() const { return home_; }
  std::filesystem::path run_folder(std::int64_t run_id) const {
    return run_folder_in(home_, run_id);
  }
  /// Empty unless the database was found damaged or missing and made anew. Runs whose folders are
  /// still there have been entered again from their spec.json.
  const Notice& recovery_note() const { return recovery_note_; }

  std::int64_t create_run(const RunRecord& record);  ///< id is ignored and given
  /// Writes everything but id, created_ms, spec and what describe() writes.
  void update_run(const RunRecord& record);
  /// Takes over a run's folder that lies on the home's disk, with its checkpoints and curves, from
  /// wherever it is to its place in <home>/runs; returns its id. Throws damaged when it is no
  /// run's.
  std::int64_t take_over(const std::filesystem::path& folder);
  void describe(std::int64_t run_id, const RunDescription& description);
  std::optional<RunRecord> run(std::int64_t run_id) const;
  std::vector<RunRecord> runs() const;  ///< newest first
  /// Removes it with all that belongs to it from the database; the folder is the caller's.
  void delete_run(std::int64_t run_id);

  /// The process that trains a run holds a lock; runs recorded as running that no one holds have
  /// been interrupted, by a crash or a power cut. Marks and returns them.
  std::vector<std::int64_t> mark_interrupted();

  /// One transaction for all rows. Rows of steps already there replace them.
  void append(std::int64_t run_id, const std::vector<MetricRow>& rows);
  void append(std::int64_t run_id, const EvaluationRow& row);
  void append(std::int64_t run_id, const EventRow& row);
  void append(std::int64_t run_id, const CheckpointRow& row);
  /// A run has one at most; another takes its place.
  void append(std::int64_t run_id, const RehearsalRow& row);
  void append(std::int64_t run_id, const MeasurementRow& row);
  /// Forgets evaluations, measurements and checkpoints after `step`, and keeps metrics after it as
  /// a tail that was abandoned: the run goes on from there. Events stay.
  void truncate_after(std::int64_t run_id, std::int64_t step);
  /// Replaces the list of checkpoints by those that still exist.
  void keep_checkpoints(std::int64_t run_id, const std::vector<std::int64_t>& steps);

  std::vector<MetricRow> metrics(std::int64_t run_id, std::int64_t after_step = -1) const;
  /// What was trained and then given up by going on from an earlier step, the oldest first.
  std::vector<std::vector<MetricRow>> abandoned_tails(std::int64_t run_id) const;
  std::vector<EvaluationRow> evaluations(std::int64_t run_id, std::int64_t after_step = -1) const;
  std::vector<EventRow> events(std::int64_t run_id) const;
  std::vector<CheckpointRow> checkpoints(std::int64_t run_id) const;
  std::optional<RehearsalRow> rehearsal(std::int64_t run_id) const;
  std::vector<MeasurementRow> measurements(std::int64_t run_id) const;  ///< the oldest first

  std::int64_t create_conversation(const ConversationRow& row);
  void append(std::int64_t conversation_id, const TurnRow& row);
  std::vector<ConversationRow> conversations() const;  ///< newest first
  std::vector<TurnRow> turns(std::int64_t conversation_id) const;

  /// A prompt to be used again; once is enough.
  void keep_prompt(const std::string& text);
  void forget_prompt(const std::string& text);
  std::vector<std::string> prompts() const;  ///< newest first

 private:
  void open();
  void recover(const std::string& cause);

  std::filesystem::path home_;
  Notice recovery_note_;
  std::unique_ptr<SQLite::Database> database_;
};

/// Held by the process that trains a run, as an advisory lock on <run folder>/lock; released by the
/// system even when the process is killed. Throws busy when another process has it.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run_folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  static bool held_by_anyone(const std::filesystem::path& run_folder);

 private:
  int descriptor_ = -1;
};

}  // namespace athanor
