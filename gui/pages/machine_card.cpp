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
  auto* check = new ToneIcon(16);
  check->setIcon("check", Tone::success);
  const Row row{makeSentence({}, FontRole::emphasis),
                makeSentence({}, FontRole::note, Tone::muted)};
  auto* texts = new QVBoxLayout;
  texts->setSpacing(0);
  texts->addWidget(row.title);
  texts->addWidget(row.note);
  auto* layout = new QHBoxLayout;
  layout->setSpacing(10);
  layout->addWidget(check, 0, Qt::AlignTop);
  layout->addLayout(texts, 1);
  content()->addLayout(layout);
  return row;
}

void MachineCard::lookAgain() {
  const QString processor = shortProcessorName(processor_name());
  m_rows[0].title->setText(processor);
  m_rows[0].note->setText(tr("%1 threads").arg(QThread::idealThreadCount()));
  m_rows[1].title->setText(tr("%1 main memory").arg(formatBytes(total_memory_bytes())));
  m_rows[1].note->setText(tr("%1 free").arg(formatBytes(available_memory_bytes())));
  const QStorageInfo disk(QString::fromStdString(m_home.string()));
  m_rows[2].title->setText(tr("%1 free on disk").arg(formatBytes(disk.bytesAvailable())));
  m_rows[2].note->setText(tr("a demo run keeps about 50 MiB of checkpoints"));
  m_device->setText(processor);
}

}  // namespace athanor
