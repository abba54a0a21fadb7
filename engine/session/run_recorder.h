// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "engine/base/clock.h"
#include "engine/session/training_session.h"
#include "engine/store/curve_files.h"

namespace athanor {

/// Enters what a trainer tells into the store and the run's folder, in batches, and passes it on.
class RunRecorder : public TrainObserver {
 public:
  RunRecorder(RunStore& store, RunRecord record, SessionObserver& observer);

  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const Evaluation& evaluation) override;
  void on_checkpoint(const SavedCheckpoint& checkpoint) override;
  void on_checkpoint_failed(std::int64_t step, const std::string& problem) override;
  void on_disk_low(const std::string& problem) override;
  void on_paused(bool paused) override;

  void event(const std::string& kind, const std::string& text);
  /// Sets the run's state and writes everything that waits.
  void close(RunStatus status, const std::string& problem);

  RunRecord& record() { return record_; }
  double bits_per_byte() const { return bits_per_byte_; }

 private:
  /// While another process holds the database, rows wait here and are tried again; a person is told
  /// once.
  template <class Write>
  void write_or_wait(const Write& write);
  void flush();

  RunStore& store_;
  RunRecord record_;
  CurveFiles history_;
  SessionObserver& observer_;
  std::vector<MetricRow> waiting_;
  Stopwatch since_flush_;
  bool told_busy_ = false;
  double bits_per_byte_ = 0;
};

}  // namespace athanor
