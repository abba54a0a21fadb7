// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_side.h"

#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <algorithm>

#include "engine/base/json.h"
#include "engine/base/machine.h"
#include "gui/models/run_status.h"
#include "gui/pages/machine_card.h"
#include "gui/pages/tone_icon.h"
#include "gui/run/attempt.h"
#include "widgets/card.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"

namespace athanor {
namespace {

QFormLayout* makeForm(Card* card) {
  auto* form = new QFormLayout;
  form->setContentsMargins(0, 0, 0, 0);
  form->setHorizontalSpacing(12);
  form->setVerticalSpacing(6);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  card->content()->addLayout(form);
  return form;
}

}  // namespace

RunSide::RunSide(QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(makeDevice());
  layout->addWidget(makeSettings(), 1);
}

Card* RunSide::makeDevice() {
  m_device = new Card(tr("Device"));
  m_bar = new MemoryBar;
  m_bar->setCompact(14);
  m_bar->setAccessibleName(tr("Memory of this machine"));
  m_device->content()->addWidget(m_bar);
  auto* row = new QHBoxLayout;
  row->setSpacing(6);
  m_trainingIcon = new ToneIcon(14);
  m_training = makeSentence({}, FontRole::note);
  row->addWidget(m_trainingIcon, 0, Qt::AlignTop);
  row->addWidget(m_training, 1);
  m_device->content()->addLayout(row);
  QFormLayout* form = makeForm(m_device);
  m_kernels = addRow(form, tr("Runs with"));
  m_resident = addRow(form, tr("Whole program"));
  return m_device;
}

Card* RunSide::makeSettings() {
  auto* card = new Card(tr("This run"));
  QFormLayout* form = makeForm(card);
  m_best = addRow(form, tr("Best validation"));
  m_spent = addRow(form, tr("Time trained"));
  m_parameters = addRow(form, tr("Parameters"));
  m_shape = addRow(form, tr("Shape"));
  m_context = addRow(form, tr("Context"));
  m_data = addRow(form, tr("Text"));
  m_batch = addRow(form, tr("Batch"));
  m_rate = addRow(form, tr("Learning rate"));
  m_seed = addRow(form, tr("Seed"));
  m_started = addRow(form, tr("Started"));
  card->content()->addStretch(1);
  return card;
}

QLabel* RunSide::addRow(QFormLayout* form, const QString& name) {
  QLabel* value = makeSentence(noValue());
  value->setTextInteractionFlags(Qt::TextSelectableByMouse);
  QLabel* label = makeLabel(name, FontRole::body, Tone::muted);
  label->setMinimumWidth(104);
  form->addRow(label, value);
  return value;
}

void RunSide::showRecord(const RunRecord& record) {
  // "AMD Ryzen 7 5800X, 16 threads, AVX2"
  const std::size_t comma = record.device.find(", ");
  const bool detailed = comma != std::string::npos;
  m_device->setTitle(shortProcessorName(record.device.empty() ? processor_name()
                                                              : record.device.substr(0, comma)));
  m_kernels->setText(detailed ? QString::fromStdString(record.device.substr(comma + 2))
                              : noValue());
  m_trainingIcon->hide();
  m_training->setText(
      tr("Training memory: %1 planned")
          .arg(record.planned_bytes > 0 ? formatBytes(record.planned_bytes) : noValue()));
  m_resident->setText(record.peak_resident_bytes > 0
                          ? tr("%1 at its highest").arg(formatBytes(record.peak_resident_bytes))
                          : noValue());
  m_parameters->setText(formatThousands(record.parameters));
  m_started->setText(dateText(record.created_ms));
  m_spent->setText(record.seconds > 0 ? formatDuration(record.seconds) : noValue());
  m_best->setText(record.best_validation_loss ? formatLoss(*record.best_validation_loss)
                                              : noValue());
  showMemory(record.planned_bytes, record.peak_resident_bytes, 0);
  showSpec(record);
}

void RunSide::showSession(const SessionStart& session, bool live) {
  const std::int64_t planned = session.plan.memory.peak_bytes;
  const bool equal = planned == session.allocated_bytes;
  m_trainingIcon->show();
  m_trainingIcon->setIcon(equal ? "check" : "warning", equal ? Tone::success : Tone::warning);
  QString memory = tr("Training memory: %1 planned, %2 allocated")
                       .arg(formatBytes(planned), formatBytes(session.allocated_bytes));
  const std::int64_t offloaded = session.plan.host.peak_bytes;
  if (offloaded > 0) memory += tr(", %1 in a file").arg(formatBytes(offloaded));
  m_training->setText(memory);
  if (!live) return;
  const std::int64_t resident = resident_bytes();
  m_resident->setText(tr("%1 measured now").arg(formatBytes(resident)));
  showMemory(planned, resident, resident);
}

void RunSide::showMemory(std::int64_t planned_bytes, std::int64_t program_bytes,
                         std::int64_t held_bytes) {
  const std::int64_t rest = std::max<std::int64_t>(0, program_bytes - planned_bytes);
  m_bar->setData(
      {.segments = {{tr("Training memory"), planned_bytes, 1},
                    {tr("Rest of the program"), rest, 8}},
       .capacity_bytes = total_memory_bytes(),
       .free_bytes = std::min(total_memory_bytes(), available_memory_bytes() + held_bytes)});
}

void RunSide::showSpec(const RunRecord& record) {
  RunSpec spec;
  const QString problem = attempt(
      [&] { spec = run_spec_from_json(parse_json(record.spec, record.name), record.name); });
  if (!problem.isEmpty()) {
    for (QLabel* label : {m_shape, m_context, m_data, m_batch, m_rate, m_seed})
      label->setText(noValue());
    return;
  }
  m_shape->setText(tr("%1 layers × %2, %3 heads")
                       .arg(formatThousands(spec.model.layers), formatThousands(spec.model.width),
                            formatThousands(spec.model.heads)));
  m_context->setText(tr("%1 tokens").arg(formatThousands(spec.model.context)));
  m_data->setText(spec.data.file.empty()
                      ? tr("Built-in stories")
                      : QFileInfo(QString::fromStdString(spec.data.file)).fileName());
  m_batch->setText(
      tr("%1 tokens a step").arg(formatThousands(spec.train.tokens_per_step(spec.model.context))));
  m_rate->setText(tr("%1, %2").arg(
      formatLearningRate(spec.train.learning_rate),
      QString::fromUtf8(names_of(Schedule{})[static_cast<std::size_t>(spec.train.schedule)].data())
          .replace('_', ' ')));
  m_seed->setText(QString::number(spec.train.seed));
}

}  // namespace athanor
