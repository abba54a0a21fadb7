// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/status_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>

#include "engine/base/machine.h"
#include "gui/pages/machine_card.h"
#include "gui/pages/tone_icon.h"
#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

using State = RunController::State;

constexpr int kHeight_px = 36;
constexpr int kMemoryPoll_ms = 2000;
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

StatusStrip::StatusStrip(RunController* controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_icon(new ToneIcon(16)),
      m_state(makeLabel({}, FontRole::emphasis)),
      m_message(makeLabel({}, FontRole::body, Tone::muted)),
      m_step(new NumberLabel),
      m_progress(new QProgressBar),
      m_loss(new NumberLabel),
      m_speed(new NumberLabel),
      m_left(new NumberLabel),
      m_device(makeLabel(shortProcessorName(processor_name()))),
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
  m_message->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
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
  layout->addWidget(m_message, 1);
  layout->addStretch(1);
  auto* deviceIcon = new ToneIcon(16);
  deviceIcon->setIcon("device", Tone::muted);
  layout->addWidget(deviceIcon);
  layout->addWidget(m_device);
  layout->addSpacing(8);
  layout->addWidget(m_memoryWord);
  layout->addWidget(m_memoryBar);
  layout->addWidget(m_memory);
  layout->addSpacing(4);
  layout->addWidget(m_stop);
  setFixedHeight(kHeight_px);
  connectController();
  updateState();
  updateMemory();
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
  m_poll.setInterval(kMemoryPoll_ms);
  connect(&m_poll, &QTimer::timeout, this, &StatusStrip::updateMemory);
  m_poll.start();
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
}

void StatusStrip::updateMemory() {
  const std::int64_t own = resident_bytes();
  const std::int64_t total = total_memory_bytes();
  m_memoryBar->setData({.segments = {{tr("Athanor"), own, 1}},
                        .capacity_bytes = total,
                        .free_bytes = std::min(total, available_memory_bytes() + own)});
  m_memory->setText(tr("%1 of %2").arg(formatBytes(own), formatBytes(total)));
}

void StatusStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().surface);
  painter.fillRect(QRect(0, 0, width(), 1), theme().border);
}

void StatusStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  // Words go before figures do.
  const bool wide = width() >= kNarrow_px;
  m_memoryWord->setVisible(wide);
  m_device->setVisible(wide);
}

void StatusStrip::mouseReleaseEvent(QMouseEvent* event) {
  QWidget::mouseReleaseEvent(event);
  if (m_controller->busy()) emit runRequested();
}

}  // namespace athanor
