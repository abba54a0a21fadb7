// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_news.h"

#include <QCoreApplication>

#include "gui/models/run_status.h"
#include "widgets/format.h"

namespace athanor {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("RunNews", text);
}

BannerContent finishedNews(const RunRecord& record) {
  QString text;
  if (record.best_validation_loss) {
    text = tr("%1 steps in %2; the best validation loss is %3.")
               .arg(formatThousands(record.step), formatDuration(record.seconds),
                    formatLoss(*record.best_validation_loss));
  }
  return {.kind = BannerKind::success,
          .title = tr("The model is ready"),
          .text = text,
          .details = {},
          .actions = {{kTalkAction, tr("Talk to it"), true}}};
}

QVector<BannerAction> resumeActions(const RunRecord& record, bool nonFinite,
                                    std::optional<std::int64_t> newest) {
  if (!newest || !isResumable(record)) return {};
  const QString step = formatThousands(*newest);
  if (!nonFinite) return {{kResumeAction, tr("Resume from step %1").arg(step), true}};
  return {{kResumeSlowerAction,
           tr("Resume from step %1 with a tenth of the learning rate").arg(step), true},
          {kResumeAction, tr("Resume unchanged"), false}};
}

QString lossInWords(const RunRecord& record, std::optional<std::int64_t> newest) {
  if (!newest) return tr("There is no checkpoint yet; start the run again.");
  const QString step = formatThousands(*newest);
  const std::int64_t repeated = record.step - *newest;
  if (repeated <= 0) return tr("The checkpoint of step %1 is complete: nothing is lost.").arg(step);
  if (repeated == 1) {
    return tr("The checkpoint of step %1 is complete: one step is repeated.").arg(step);
  }
  return tr("The checkpoint of step %1 is complete: %2 steps are repeated.")
      .arg(step, formatThousands(repeated));
}

QString problemTitle(const RunRecord& record, bool nonFinite) {
  const QString step = formatThousands(record.step);
  if (nonFinite) return tr("Paused at step %1: the loss is no longer a number").arg(step);
  // What is left paused by a problem could not be written.
  if (record.status == RunStatus::paused) {
    return tr("Paused at step %1: it could not be saved").arg(step);
  }
  return tr("Failed at step %1").arg(step);
}

}  // namespace

BannerContent bannerOf(const Notice& notice) {
  return {.kind = BannerKind::warning,
          .title = QString::fromStdString(notice.title),
          .text = QString::fromStdString(notice.text),
          .details = QString::fromStdString(notice.details),
          .actions = {}};
}

std::optional<BannerContent> runNews(const RunRecord& record, bool nonFinite,
                                     std::optional<std::int64_t> newest) {
  const QString problem = QString::fromStdString(record.problem);
  const QString step = formatThousands(record.step);
  BannerContent content{.kind = BannerKind::danger,
                        .title = {},
                        .text = {},
                        .details = {},
                        .actions = resumeActions(record, nonFinite, newest)};
  if (record.status == RunStatus::finished) return finishedNews(record);
  if (!problem.isEmpty()) {
    content.title = problemTitle(record, nonFinite);
    content.text = problem;
    // A loss that is no number says itself which checkpoint is kept.
    if (newest && !nonFinite) content.text += " " + lossInWords(record, newest);
    return content;
  }
  if (record.status == RunStatus::interrupted) {
    content.kind = BannerKind::warning;
    content.title = tr("Interrupted at step %1").arg(step);
    content.text = tr("Athanor or the machine stopped while this run was training. ") +
                   lossInWords(record, newest);
    return content;
  }
  if (record.status == RunStatus::stopped && newest) {
    content.kind = BannerKind::info;
    content.title = tr("Stopped and saved at step %1").arg(step);
    content.text = tr("Nothing is lost; resume it whenever you like.");
    content.actions.push_back({kTalkAction, tr("Talk to it"), false});
    return content;
  }
  return std::nullopt;
}

bool saysNonFinite(const RunRecord& record) {
  for (const char* words : {"no longer a number", "finite"}) {
    if (record.problem.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace athanor
