// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/training_worker.h"

#include <utility>

namespace athanor {

TrainingWorker::TrainingWorker(std::filesystem::path home, std::shared_ptr<MetricChannel> channel)
    : m_home(std::move(home)), m_channel(std::move(channel)) {}

void TrainingWorker::run(const TrainingJob& job) {
  m_last = {};
  try {
    TrainingSession session(m_home, job.backend);
    emit ended(job.resumed ? session.resume(*job.resumed, job.how, *job.control, *this)
                           : session.start(job.spec, *job.control, *this, job.rehearsal));
  } catch (const Cancelled&) {
    emit refused({});
  } catch (const std::exception& error) {
    emit refused(QString::fromUtf8(error.what()));
  }
}

void TrainingWorker::on_stage(const std::string& stage, std::int64_t done, std::int64_t total) {
  emit this->stage(QString::fromStdString(stage), done, total);
}

void TrainingWorker::on_started(const SessionStart& start) {
  emit started(start);
}

void TrainingWorker::on_step(const StepMetrics& metrics) {
  m_last = {.step = metrics.step,
            .tokens = metrics.tokens,
            .seconds = metrics.seconds,
            .loss = metrics.loss,
            .learning_rate = metrics.learning_rate,
            .gradient_norm = metrics.gradient_norm,
            .tokens_per_second = metrics.tokens_per_second};
  m_channel->push(m_last);
}

void TrainingWorker::on_evaluation(const Evaluation& evaluation) {
  m_channel->push(EvaluationRow{.step = evaluation.step,
                                .tokens = m_last.tokens,
                                .seconds = m_last.seconds,
                                .loss = evaluation.loss,
                                .bits_per_byte = evaluation.bits_per_byte});
}

void TrainingWorker::on_checkpoint(const SavedCheckpoint& checkpoint) {
  emit checkpointSaved(checkpoint.step);
}

void TrainingWorker::on_paused(bool paused) {
  emit this->paused(paused);
}

void TrainingWorker::on_notice(const Notice& notice) {
  emit noticed(notice);
}

}  // namespace athanor
