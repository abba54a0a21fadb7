// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/session/training_session.h"

namespace athanor {

/// Tells a training session as JSON Lines, one event an object with its kind in "event". Numbers
/// that are not finite are null.
class JsonEvents : public SessionObserver {
 public:
  void on_stage(const std::string& stage, std::int64_t done, std::int64_t total) override;
  void on_corpus(const CorpusProgress& progress) override;
  void on_started(const SessionStart& start) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const Evaluation& evaluation) override;
  void on_checkpoint(const SavedCheckpoint& checkpoint) override;
  void on_paused(bool paused) override;
  void on_notice(const Notice& notice) override;
};

}  // namespace athanor
