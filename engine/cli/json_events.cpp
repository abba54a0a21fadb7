// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/json_events.h"

#include "engine/cli/output.h"

namespace athanor {

void JsonEvents::on_stage(const std::string& stage, std::int64_t done, std::int64_t total) {
  print_json({{"event", "stage"}, {"stage", stage}, {"done", done}, {"total", total}});
}

void JsonEvents::on_corpus(const CorpusProgress& progress) {
  const CorpusCounts& counts = progress.counts;
  print_json({{"event", "corpus"},
              {"stage", progress.stage},
              {"done_bytes", progress.done_bytes},
              {"total_bytes", progress.total_bytes},
              {"seconds_left", progress.seconds_left < 0 ? Json() : Json(progress.seconds_left)},
              {"documents", counts.documents},
              {"tokens", counts.tokens},
              {"duplicates", counts.duplicates},
              {"bad_records", counts.bad_records},
              {"invalid_bytes", counts.invalid_bytes}});
}

void JsonEvents::on_started(const SessionStart& start) {
  print_json({{"event", "started"},
              {"run", start.record.id},
              {"name", start.record.name},
              {"device", start.record.device},
              {"device_id", start.device_id},
              {"first_step", start.first_step},
              {"steps", start.spec.train.steps},
              {"parameters", start.plan.parameters},
              {"trained_parameters", start.plan.trained_parameters},
              {"planned_bytes", start.plan.memory.peak_bytes},
              {"allocated_bytes", start.allocated_bytes},
              {"offloaded_bytes", start.plan.host.peak_bytes},
              {"train_tokens", start.train_tokens},
              {"validation_tokens", start.validation_tokens},
              {"unigram_entropy", start.unigram_entropy}});
}

void JsonEvents::on_step(const StepMetrics& metrics) {
  print_json({{"event", "step"},
              {"step", metrics.step},
              {"tokens", metrics.tokens},
              {"seconds", metrics.seconds},
              {"loss", metrics.loss},
              {"learning_rate", metrics.learning_rate},
              {"gradient_norm", metrics.gradient_norm},
              {"tokens_per_second", metrics.tokens_per_second}});
}

void JsonEvents::on_evaluation(const Evaluation& evaluation) {
  print_json({{"event", "evaluation"},
              {"step", evaluation.step},
              {"loss", evaluation.loss},
              {"bits_per_byte", evaluation.bits_per_byte},
              {"tokens", evaluation.tokens}});
}

void JsonEvents::on_checkpoint(const SavedCheckpoint& checkpoint) {
  print_json({{"event", "checkpoint"},
              {"step", checkpoint.step},
              {"path", checkpoint.path.string()},
              {"validation_loss",
               checkpoint.validation_loss ? Json(*checkpoint.validation_loss) : Json(nullptr)},
              {"best", checkpoint.best}});
}

void JsonEvents::on_paused(bool paused) {
  print_json({{"event", paused ? "paused" : "resumed"}});
}

void JsonEvents::on_notice(const Notice& notice) {
  print_json({{"event", "notice"}, {"text", notice.sentence()}});
}

}  // namespace athanor
