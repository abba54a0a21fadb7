// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/machine_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStorageInfo>
#include <QThread>
#include <utility>

#include "engine/base/machine.h"
#include "gui/models/device_choice.h"
#include "gui/pages/divider.h"
#include "gui/pages/tone_icon.h"
#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

/// What the demo takes, with room for the rest of the program and of the desktop.
constexpr std::int64_t kDemoMemory_bytes = 300LL << 20;
constexpr std::int64_t kDemoDisk_bytes = 100LL << 20;

}  // namespace

MachineCard::MachineCard(std::filesystem::path home, DeviceChoice* choice, QWidget* parent)
    : Card(tr("This machine"), parent), m_home(std::move(home)), m_choice(choice) {
  QPushButton* again = flatButton(tr("Look again"), "refresh");
  connect(again, &QPushButton::clicked, this, &MachineCard::lookAgain);
  addHeaderWidget(again);
  m_graphics = addRow();
  for (int i = 0; i < 3; ++i)
    m_rows << addRow();
  content()->addSpacing(4);
  content()->addWidget(new Divider(Qt::Horizontal));
  auto* last = new QHBoxLayout;
  last->setSpacing(4);
  last->addWidget(makeLabel(tr("Training will run on:"), FontRole::note, Tone::muted));
  m_device = makeLabel({}, FontRole::emphasis);
  last->addWidget(m_device, 1);
  content()->addLayout(last);
  content()->addStretch(1);
  connect(choice, &DeviceChoice::changed, this, &MachineCard::lookAgain);
  lookAgain();
}

MachineCard::Row MachineCard::addRow() {
  const Row row{new ToneIcon(16), makeSentence({}, FontRole::emphasis),
                makeSentence({}, FontRole::note, Tone::muted)};
  auto* texts = new QVBoxLayout;
  texts->setSpacing(0);
  texts->addWidget(row.title);
  texts->addWidget(row.note);
  auto* layout = new QHBoxLayout;
  layout->setSpacing(10);
  layout->addWidget(row.icon, 0, Qt::AlignTop);
  layout->addLayout(texts, 1);
  content()->addLayout(layout);
  return row;
}

void MachineCard::lookAgain() {
  const QStorageInfo disk(QString::fromStdString(m_home.string()));
  MachineFindings findings{.processor = shortDeviceName(processor_name()),
                           .threads = QThread::idealThreadCount(),
                           .total_memory_bytes = total_memory_bytes(),
                           .free_memory_bytes = available_memory_bytes(),
                           .free_disk_bytes = disk.bytesAvailable(),
                           .trains_on = m_choice->name()};
  if (const auto& devices = m_choice->devices(); devices && devices->list.front().is_card()) {
    const Device& card = *m_choice->device();
    const Device& shown = card.is_card() ? card : devices->list.front();
    findings.card = shortDeviceName(shown.name);
    findings.card_bytes = shown.memory_bytes;
    findings.card_problem = QString::fromStdString(shown.problem);
  }
  showFindings(findings);
}

void MachineCard::showFindings(const MachineFindings& findings) {
  const bool memory = findings.free_memory_bytes >= kDemoMemory_bytes;
  const bool disk = findings.free_disk_bytes >= kDemoDisk_bytes;
  showRow(m_rows[0], findings.processor, true, tr("%1 threads").arg(findings.threads));
  const QString freeMemory = tr("%1 free").arg(formatBytes(findings.free_memory_bytes));
  showRow(m_rows[1], tr("%1 main memory").arg(formatBytes(findings.total_memory_bytes)), memory,
          memory ? freeMemory : tr("%1, too little: close other programs").arg(freeMemory));
  showRow(m_rows[2], tr("%1 free on disk").arg(formatBytes(findings.free_disk_bytes)), disk,
          disk ? tr("the demo model takes about 50 MiB")
               : tr("the demo model takes about 50 MiB: free some space"));
  const bool usable = findings.card_problem.isEmpty();
  for (QWidget* part :
       {static_cast<QWidget*>(m_graphics.icon), static_cast<QWidget*>(m_graphics.title),
        static_cast<QWidget*>(m_graphics.note)}) {
    part->setHidden(findings.card.isEmpty());
  }
  showRow(m_graphics, findings.card, usable,
          usable ? tr("%1 of its own memory").arg(formatBytes(findings.card_bytes))
                 : findings.card_problem);
  m_device->setText(findings.trains_on.isEmpty() ? findings.processor : findings.trains_on);
}

void MachineCard::showRow(const Row& row, const QString& title, bool enough, const QString& note) {
  row.icon->setIcon(enough ? "check" : "warning", enough ? Tone::success : Tone::warning);
  row.title->setText(title);
  row.note->setText(note);
  setTone(row.note, enough ? Tone::muted : Tone::warning);
}

}  // namespace athanor
