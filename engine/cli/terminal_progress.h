// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/base/clock.h"
#include "engine/session/training_session.h"

namespace athanor {

/// Shows a training session to a person: on a terminal one line that rewrites itself, elsewhere a
/// line every few seconds.
class TerminalProgress : public SessionObserver {
 public:
  explicit TerminalProgress(bool terminal) : terminal_(terminal) {}

  void on_stage(const std::string& stage, std::int64_t done, std::int64_t total) override;
  void on_corpus(const CorpusProgress& progress) override;
  void on_started(const SessionStart& start) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const Evaluation& evaluation) override;
  void on_checkpoint(const SavedCheckpoint& checkpoint) override;
  void on_paused(bool paused) override;
  void on_notice(const Notice& notice) override;
  /// Takes the rewriting line away.
  void finish();

 private:
  bool is_due();
  void show_passing(const std::string& line);
  void show_lasting(const std::string& line);
  double seconds_left(const StepMetrics& metrics) const;

  bool terminal_;
  bool passing_shown_ = false;
  std::string stage_;
  std::string corpus_stage_;   ///< that the counts are of
  std::string corpus_counts_;  ///< ", 12 documents, …"
  Stopwatch since_shown_;
  bool anything_shown_ = false;
  std::int64_t steps_ = 0;
  std::int64_t first_step_ = 0;
  double first_seconds_ = 0;
};

}  // namespace athanor
