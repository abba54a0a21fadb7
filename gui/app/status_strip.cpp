// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/status_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>

#include "gui/models/device_choice.h"
#include "gui/pages/tone_icon.h"
#include "gui/run/device_monitor.h"
#include "widgets/buttons.h"
#include "widgets/elided_label.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

using State = RunController::State;

constexpr int kHeight_px = 36;
constexpr int kNarrow_px = 1100;
constexpr int kProgressParts = 1000;

struct Look {
  QString icon;
  QString word;
  Tone tone;
};

Look lookOf(State state) {
  switch (state) {
    case State::preparing:
      return {"clock", StatusStrip::tr("Preparing"), Tone::muted};
    case State::running:
      return {"play", StatusStrip::tr("Running"), Tone::success};
    case State::paused:
      return {"pause", StatusStrip::tr("Paused"), Tone::info};
    case State::stopping:
      return {"save", StatusStrip::tr("Saving"), Tone::info};
    case State::idle:
    case State::ended:
      break;
  }
  return {"stop", StatusStrip::tr("Idle"), Tone::muted};
}

}  // namespace

StatusStrip::StatusStrip(RunController* controller, DeviceChoice* choice, DeviceMonitor* monitor,
                         QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_choice(choice),
      m_icon(new ToneIcon(16)),
      m_state(makeLabel({}, FontRole::emphasis)),
      m_message(makeLabel({}, FontRole::body, Tone::muted)),
      m_step(new NumberLabel),
      m_progress(new QProgressBar),
      m_loss(new NumberLabel),
      m_speed(new NumberLabel),
      m_left(new NumberLabel),
      m_deviceWord(makeLabel(tr("Running on:"), FontRole::body, Tone::muted)),
      m_device(makeLabel({})),
      m_unusedIcon(new ToneIcon(16)),
      m_unused(new ElidedLabel),
      m_memoryWord(makeLabel(tr("Memory"), FontRole::body, Tone::muted)),
      m_memoryBar(new MemoryBar),
      m_memory(new NumberLabel),
      m_stop(plainButton(tr("Stop"), "stop")) {
  m_progress->setRange(0, kProgressParts);
  m_progress->setTextVisible(false);
  m_progress->setFixedWidth(120);
  m_progress->setAccessibleName(tr("Progress of the run"));
  m_memoryBar->setCompact(10);
  m_memoryBar->setFixedWidth(96);
  m_stop->setProperty("compact", true);
  m_stop->setAccessibleName(tr("Stop and save the run"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(16, 0, 12, 0);
  layout->setSpacing(8);
  layout->addWidget(m_icon);
  layout->addWidget(m_state);
  layout->addSpacing(8);
  layout->addWidget(m_step);
  layout->addWidget(m_progress);
  for (QLabel* label : {m_loss, m_speed, m_left}) {
    layout->addSpacing(8);
    layout->addWidget(label);
  }
  layout->addWidget(m_message);
  layout->addStretch(1);
  layout->addWidget(m_unusedIcon);
  layout->addWidget(m_unused);
  layout->addSpacing(8);
  auto* deviceIcon = new ToneIcon(16);
  deviceIcon->setIcon("device", Tone::muted);
  layout->addWidget(deviceIcon);
  layout->addWidget(m_deviceWord);
  layout->addWidget(m_device);
  layout->addSpacing(8);
  layout->addWidget(m_memoryWord);
  layout->addWidget(m_memoryBar);
  layout->addWidget(m_memory);
  layout->addSpacing(4);
  layout->addWidget(m_stop);
  setFixedHeight(kHeight_px);
  m_device->setObjectName("runningOn");
  m_unused->setObjectName("unusedCard");
  m_unusedIcon->setIcon("warning", Tone::warning);
  setTone(m_unused, Tone::warning);
  connectController();
  connect(choice, &DeviceChoice::changed, this, &StatusStrip::updateDevice);
  connect(monitor, &DeviceMonitor::sampled, this, &StatusStrip::showMemory);
  updateState();
}

void StatusStrip::connectController() {
  connect(m_stop, &QPushButton::clicked, m_controller, &RunController::stop);
  connect(m_controller, &RunController::stateChanged, this, &StatusStrip::updateState);
  connect(m_controller, &RunController::rowsArrived, this, &StatusStrip::updateFigures);
  connect(m_controller, &RunController::stageChanged, this,
          [this](const QString& what, qint64 done, qint64 total) {
            m_message->setText(
                total > 0
                    ? tr("%1, %2").arg(
                          what,
                          formatPercent(static_cast<double>(done) / static_cast<double>(total), 0))
                    : what);
          });
}

void StatusStrip::updateState() {
  const State state = m_controller->state();
  const Look look = lookOf(state);
  m_icon->setIcon(look.icon, look.tone);
  m_state->setText(look.word);
  setTone(m_state, m_controller->busy() ? look.tone : Tone::text);
  const bool training = m_controller->busy() && m_controller->session();
  for (QWidget* widget : {static_cast<QWidget*>(m_step), static_cast<QWidget*>(m_progress),
                          static_cast<QWidget*>(m_loss), static_cast<QWidget*>(m_speed),
                          static_cast<QWidget*>(m_left)}) {
    widget->setVisible(training);
  }
  m_message->setVisible(!training);
  if (!m_controller->busy()) m_message->setText(tr("No run in progress"));
  m_stop->setVisible(m_controller->busy());
  m_stop->setEnabled(state != State::stopping);
  updateFigures();
  updateDevice();
}

/// While a run goes on, what it really runs on; else what the next one would.
void StatusStrip::updateDevice() {
  const bool training = m_controller->busy() && m_controller->session();
  const std::string id = training ? m_controller->session()->device_id : m_choice->id();
  m_device->setText(training ? shortDeviceName(m_controller->session()->device.name)
                             : m_choice->name());
  // Said while the processor is used: then it is what keeps a run slow.
  const QString reason = training && id != "cpu" ? QString() : m_choice->unusedCard();
  m_unused->setText(reason);
  m_unusedIcon->setToolTip(reason);
  m_unusedIcon->setHidden(reason.isEmpty());
  m_unused->setHidden(reason.isEmpty());
  m_device->setAccessibleDescription(reason);
  fit();
}

void StatusStrip::updateFigures() {
  if (!m_controller->session()) return;
  const SessionStart& session = *m_controller->session();
  const MetricRow now = m_controller->latest().value_or(MetricRow{.step = session.first_step});
  const auto steps = std::max<std::int64_t>(1, session.record.steps);
  m_step->setText(tr("step %1 of %2").arg(formatThousands(now.step), formatThousands(steps)));
  m_progress->setValue(static_cast<int>(now.step * kProgressParts / steps));
  const bool known = m_controller->latest().has_value();
  m_loss->setText(tr("loss %1").arg(known ? formatLoss(now.loss) : noValue()));
  m_speed->setText(tr("%1 tokens/s")
                       .arg(known
                                ? formatThousands(static_cast<std::int64_t>(now.tokens_per_second))
                                : noValue()));
  const std::optional<double> left = m_controller->secondsLeft();
  m_left->setText(tr("%1 left").arg(left ? formatDuration(*left) : noValue()));
  fit();
}

void StatusStrip::showMemory(const DeviceSample& sample) {
  std::int64_t own = sample.resident_bytes;
  std::int64_t total = sample.total_bytes;
  std::int64_t shown = own;
  std::int64_t free = own + sample.available_bytes;
  if (sample.card) {
    if (!sample.card->used_bytes || !sample.card->total_bytes) return;
    shown = *sample.card->used_bytes;
    total = *sample.card->total_bytes;
    own = sample.card->own_bytes.value_or(0);
    free = total - (shown - own);
  }
  m_memoryBar->setData({.segments = {{tr("Athanor"), own, 1}},
                        .capacity_bytes = total,
                        .free_bytes = std::min(total, free)});
  m_memory->setText(tr("%1 of %2").arg(formatGib(shown), formatBytes(total)));
}

/// Words go before figures do.
void StatusStrip::fit() {
  const auto widthOf = [this](const QWidget* word) {
    return word->sizeHint().width() + layout()->spacing();
  };
  int needed = layout()->minimumSize().width();
  for (const QWidget* word : {m_memoryWord, m_deviceWord}) {
    if (word->isHidden()) needed += widthOf(word);
  }
  for (QWidget* word : {m_memoryWord, m_deviceWord}) {
    const bool room = needed <= width() && width() >= kNarrow_px;
    word->setVisible(room);
    if (!room) needed -= widthOf(word);
  }
}

void StatusStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().surface);
  painter.fillRect(QRect(0, 0, width(), 1), theme().border);
}

void StatusStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

void StatusStrip::mouseReleaseEvent(QMouseEvent* event) {
  QWidget::mouseReleaseEvent(event);
  if (m_controller->busy()) emit runRequested();
}

}  // namespace athanor
