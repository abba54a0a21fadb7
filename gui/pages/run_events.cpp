// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_events.h"

#include <QGridLayout>
#include <QLabel>
#include <algorithm>

#include "gui/models/run_status.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

constexpr int kLines = 4;

QString wordOf(const EventRow& event) {
  const QString step = formatThousands(event.step);
  const QString kind = QString::fromStdString(event.kind);
  const QString text = QString::fromStdString(event.text);
  const auto with = [&text](const QString& word) {
    return text.isEmpty() ? word : word + " · " + text;
  };
  if (kind == "started") return with(RunEvents::tr("Started"));
  if (kind == "resumed") return with(RunEvents::tr("Resumed from step %1").arg(step));
  if (kind == "paused") return RunEvents::tr("Step %1 · %2").arg(step, text);
  if (kind == "continued") return RunEvents::tr("Continued at step %1").arg(step);
  if (kind == "stopped") return RunEvents::tr("Stopped and saved at step %1").arg(step);
  if (kind == "finished") return RunEvents::tr("Finished at step %1").arg(step);
  if (kind == "failed") return with(RunEvents::tr("Failed at step %1").arg(step));
  if (kind == "interrupted") return with(RunEvents::tr("Interrupted at step %1").arg(step));
  return text;
}

QString wordOf(const CheckpointRow& checkpoint) {
  QString text = RunEvents::tr("Checkpoint at step %1").arg(formatThousands(checkpoint.step));
  if (checkpoint.validation_loss) {
    text += RunEvents::tr(" · validation %1").arg(formatLoss(*checkpoint.validation_loss));
  }
  if (checkpoint.best) text += RunEvents::tr(" · best so far");
  return text;
}

}  // namespace

RunEvents::RunEvents(QWidget* parent) : Card(tr("What happened"), parent) {
  auto* grid = new QGridLayout;
  grid->setHorizontalSpacing(16);
  grid->setVerticalSpacing(4);
  grid->setColumnStretch(1, 1);
  for (int i = 0; i < kLines; ++i) {
    auto* time = new NumberLabel;
    setTone(time, Tone::muted);
    QLabel* text = makeLabel({});
    text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    grid->addWidget(time, i, 0);
    grid->addWidget(text, i, 1);
    m_lines.push_back({time, text});
  }
  content()->addLayout(grid);
  content()->addStretch(1);
}

void RunEvents::showAll(const std::vector<EventRow>& events,
                        const std::vector<CheckpointRow>& checkpoints) {
  struct Happening {
    std::int64_t time_ms;
    QString text;
  };
  std::vector<Happening> all;
  for (const EventRow& event : events)
    all.push_back({event.time_ms, wordOf(event)});
  for (const CheckpointRow& checkpoint : checkpoints)
    all.push_back({checkpoint.time_ms, wordOf(checkpoint)});
  std::stable_sort(all.begin(), all.end(),
                   [](const Happening& a, const Happening& b) { return a.time_ms > b.time_ms; });
  for (std::size_t i = 0; i < m_lines.size(); ++i) {
    const bool there = i < all.size();
    m_lines[i].time->setText(there ? dateText(all[i].time_ms) : QString());
    m_lines[i].text->setText(there ? all[i].text : QString());
    m_lines[i].text->setToolTip(there ? all[i].text : QString());
  }
}

}  // namespace athanor
