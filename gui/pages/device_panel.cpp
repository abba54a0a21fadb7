// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/device_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QThread>
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/machine.h"
#include "gui/models/device_choice.h"
#include "gui/pages/tone_icon.h"
#include "gui/run/device_monitor.h"
#include "widgets/format.h"
#include "widgets/history_gauge.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

constexpr double kNotTold = std::numeric_limits<double>::quiet_NaN();
constexpr double kUsualLimit_w = 400;

/// An icon and a sentence, in `row`.
QLabel* fillRow(QWidget* row, ToneIcon* icon, Tone tone) {
  QLabel* text = makeSentence({}, FontRole::note, tone);
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(icon, 0, Qt::AlignTop);
  layout->addWidget(text, 1);
  return text;
}

QLabel* fillWarning(QWidget* row) {
  auto* icon = new ToneIcon(14);
  icon->setIcon("warning", Tone::warning);
  row->hide();
  return fillRow(row, icon, Tone::warning);
}

QString words(Throttle reason) {
  return QString::fromUtf8(words_of(reason).data());
}

bool has(const std::optional<std::vector<Throttle>>& throttles, Throttle reason) {
  return throttles && std::ranges::find(*throttles, reason) != throttles->end();
}

}  // namespace

DevicePanel::DevicePanel(QWidget* parent)
    : Card(tr("Device"), parent),
      m_figure(new NumberLabel),
      m_bar(new MemoryBar),
      m_trainingIcon(new ToneIcon(14)),
      m_measured(makeSentence({}, FontRole::note, Tone::muted)),
      m_detail(makeSentence({}, FontRole::note, Tone::muted)),
      m_cores(new HistoryGauge(tr("Cores used"), 0, QThread::idealThreadCount(), 3)),
      m_busy(new HistoryGauge(tr("Utilisation"), 0, 100, 3)),
      m_power(new HistoryGauge(tr("Power"), 0, kUsualLimit_w, 1)),
      m_temperature(new HistoryGauge(tr("Temperature"), 30, 90, 5)),
      m_throttleRow(new QWidget),
      m_unusedRow(new QWidget) {
  auto* heading = new QHBoxLayout;
  heading->addWidget(makeLabel(tr("Memory")), 1);
  heading->addWidget(m_figure);
  m_bar->setCompact(14);
  m_bar->setAccessibleName(tr("Memory of the device"));
  auto* training = new QWidget;
  m_training = fillRow(training, m_trainingIcon, Tone::text);
  m_throttle = fillWarning(m_throttleRow);
  m_unused = fillWarning(m_unusedRow);
  m_unusedRow->setObjectName("unusedCard");
  m_measured->setObjectName("measured");
  content()->setSpacing(6);
  content()->addLayout(heading);
  for (QWidget* part :
       {static_cast<QWidget*>(m_bar), training, static_cast<QWidget*>(m_measured),
        static_cast<QWidget*>(m_detail), m_unusedRow, static_cast<QWidget*>(m_cores),
        static_cast<QWidget*>(m_busy), static_cast<QWidget*>(m_power),
        static_cast<QWidget*>(m_temperature), m_throttleRow}) {
    content()->addWidget(part);
  }
  setLive(false, false);
}

void DevicePanel::setLive(bool live, bool onCard) {
  if (live && (!m_live || onCard != m_onCard)) {
    for (HistoryGauge* gauge : {m_cores, m_busy, m_power, m_temperature}) {
      gauge->clear();
      gauge->setValueText(noValue());
    }
  }
  m_live = live;
  m_onCard = onCard;
  setNote(live ? tr("last 10 minutes") : QString());
  m_cores->setVisible(live && !onCard);
  for (HistoryGauge* gauge : {m_busy, m_power, m_temperature})
    gauge->setVisible(live && onCard);
  m_throttleRow->setVisible(m_throttleRow->isVisibleTo(this) && live && onCard);
}

void DevicePanel::showRecord(const RunRecord& record) {
  // "AMD Ryzen 7 5800X, 16 threads, AVX2"
  const std::size_t comma = record.device.find(", ");
  const bool detailed = comma != std::string::npos;
  setTitle(
      shortDeviceName(record.device.empty() ? processor_name() : record.device.substr(0, comma)));
  m_detail->setText(detailed ? QString::fromStdString(record.device.substr(comma + 2)) : QString());
  m_detail->setVisible(detailed);
  if (m_live) return;
  m_trainingIcon->hide();
  m_training->setText(
      tr("Training memory: %1 planned")
          .arg(record.planned_bytes > 0 ? formatBytes(record.planned_bytes) : noValue()));
  const std::int64_t peak = record.peak_resident_bytes;
  m_measured->setText(
      tr("Whole program: %1 at its highest").arg(peak > 0 ? formatBytes(peak) : noValue()));
  const std::int64_t total = total_memory_bytes();
  showMemory({.planned_bytes = record.planned_bytes,
              .own_bytes = peak,
              .used_bytes = std::max(peak, total - available_memory_bytes()),
              .capacity_bytes = total},
             formatBytes(peak));
}

void DevicePanel::showSession(const SessionStart& session, bool live) {
  setLive(live, session.device_id != "cpu");
  const std::int64_t planned = session.plan.memory.peak_bytes;
  const bool equal = planned == session.allocated_bytes;
  m_planned_bytes = planned;
  m_trainingIcon->show();
  m_trainingIcon->setIcon(equal ? "check" : "warning", equal ? Tone::success : Tone::warning);
  QString memory = tr("Training memory: %1 planned, %2 allocated")
                       .arg(formatBytes(planned), formatBytes(session.allocated_bytes));
  const std::int64_t offloaded = session.plan.host.peak_bytes;
  if (offloaded > 0) memory += tr(", %1 offloaded").arg(formatBytes(offloaded));
  m_training->setText(memory);
}

void DevicePanel::showUnusedCard(const QString& sentence) {
  m_unused->setText(sentence);
  m_unusedRow->setHidden(sentence.isEmpty());
}

void DevicePanel::showSample(const DeviceSample& sample) {
  if (!m_live) return;
  if (m_onCard && sample.card) {
    showCard(sample);
  } else if (!m_onCard) {
    showProcessor(sample);
  }
}

void DevicePanel::showMemory(const Memory& memory, const QString& figure) {
  m_figure->setText(figure);
  // A card need not say which process has what; the plan's part is then taken as ours.
  const std::int64_t own = memory.own_bytes.value_or(memory.planned_bytes);
  const std::int64_t rest = std::max<std::int64_t>(0, own - memory.planned_bytes);
  const std::int64_t others = std::max<std::int64_t>(0, memory.used_bytes - own);
  m_bar->setData({.segments = {{tr("Training memory"), memory.planned_bytes, 1},
                               {tr("Rest of the program"), rest, 8}},
                  .capacity_bytes = memory.capacity_bytes,
                  .free_bytes = std::max<std::int64_t>(0, memory.capacity_bytes - others)});
  if (!m_live) return;
  m_measured->setText(
      memory.own_bytes
          ? tr("This program: %1 measured · others: %2").arg(formatBytes(own), formatBytes(others))
          : tr("All programs: %1 measured; the card does not say which has what")
                .arg(formatBytes(memory.used_bytes)));
}

void DevicePanel::showProcessor(const DeviceSample& sample) {
  showMemory(
      {.planned_bytes = m_planned_bytes,
       .own_bytes = sample.resident_bytes,
       .used_bytes = sample.total_bytes - sample.available_bytes,
       .capacity_bytes = sample.total_bytes},
      tr("%1 of %2").arg(formatBytes(sample.resident_bytes), formatBytes(sample.total_bytes)));
  m_cores->append({sample.seconds, sample.cores.value_or(kNotTold)});
  m_cores->setValueText(sample.cores ? tr("%1 of %2")
                                           .arg(formatFixed(*sample.cores, 1),
                                                formatThousands(QThread::idealThreadCount()))
                                     : noValue());
}

void DevicePanel::showCard(const DeviceSample& sample) {
  const CardReading& card = *sample.card;
  if (card.used_bytes && card.total_bytes) {
    showMemory({.planned_bytes = m_planned_bytes,
                .own_bytes = card.own_bytes,
                .used_bytes = *card.used_bytes,
                .capacity_bytes = *card.total_bytes},
               tr("%1 of %2").arg(formatGib(*card.used_bytes), formatBytes(*card.total_bytes)));
  } else {
    m_figure->setText(noValue());
    m_measured->setText(tr("The card does not say how much of its memory is used"));
  }
  const std::optional<int> busy = card.utilisation_percent;
  m_busy->append({sample.seconds, busy ? *busy : kNotTold});
  m_busy->setValueText(busy ? tr("%1 %").arg(*busy) : noValue());
  const double limit_w = card.power_limit_w.value_or(kUsualLimit_w);
  m_power->setScale(0, limit_w);
  m_power->append({sample.seconds, card.power_w.value_or(kNotTold)});
  QString power = card.power_w ? formatFixed(*card.power_w, 0) : noValue();
  power = card.power_limit_w ? tr("%1 of %2 W").arg(power, formatFixed(limit_w, 0))
                             : tr("%1 W").arg(power);
  // Usual for a card that works as hard as it may: no warning.
  if (has(card.throttles, Throttle::power_limit)) power = tr("%1, at its limit").arg(power);
  m_power->setValueText(power);
  m_temperature->append(
      {sample.seconds, card.temperature_c ? static_cast<double>(*card.temperature_c) : kNotTold});
  showThrottling(sample);
}

void DevicePanel::showThrottling(const DeviceSample& sample) {
  const CardReading& card = *sample.card;
  const bool hot = has(card.throttles, Throttle::heat);
  QString warmth = card.temperature_c ? tr("%1 °C").arg(*card.temperature_c) : noValue();
  if (card.throttles && card.throttles->empty()) warmth = tr("%1, not throttled").arg(warmth);
  m_temperature->setValueText(warmth);
  m_temperature->setWarning(hot ? words(Throttle::heat) : QString());
  QStringList reasons;
  for (const Throttle reason : card.throttles.value_or(std::vector<Throttle>())) {
    // These stand behind their own figures.
    if (reason != Throttle::heat && reason != Throttle::power_limit) reasons << words(reason);
  }
  m_throttle->setText(tr("Throttled: %1").arg(reasons.join(", ")));
  m_throttleRow->setHidden(reasons.isEmpty());
}

}  // namespace athanor
