// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/machine_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QStorageInfo>
#include <QThread>
#include <utility>

#include "engine/base/machine.h"
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

QString shortProcessorName(const std::string& name) {
  QString shortened = QString::fromStdString(name);
  shortened.remove(QRegularExpression(R"(\((R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|@.*$|\d+-Core)"));
  shortened = shortened.simplified();
  return shortened.isEmpty() ? MachineCard::tr("This processor") : shortened;
}

MachineCard::MachineCard(std::filesystem::path home, QWidget* parent)
    : Card(tr("This machine"), parent), m_home(std::move(home)) {
  QPushButton* again = flatButton(tr("Look again"), "refresh");
  connect(again, &QPushButton::clicked, this, &MachineCard::lookAgain);
  addHeaderWidget(again);
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
  showFindings({.processor = shortProcessorName(processor_name()),
                .threads = QThread::idealThreadCount(),
                .total_memory_bytes = total_memory_bytes(),
                .free_memory_bytes = available_memory_bytes(),
                .free_disk_bytes = disk.bytesAvailable()});
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
  m_device->setText(findings.processor);
}

void MachineCard::showRow(const Row& row, const QString& title, bool enough, const QString& note) {
  row.icon->setIcon(enough ? "check" : "warning", enough ? Tone::success : Tone::warning);
  row.title->setText(title);
  row.note->setText(note);
  setTone(row.note, enough ? Tone::muted : Tone::warning);
}

}  // namespace athanor
