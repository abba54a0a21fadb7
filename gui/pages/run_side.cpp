// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_side.h"

#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>

#include "engine/base/json.h"
#include "gui/models/run_status.h"
#include "gui/pages/device_panel.h"
#include "gui/run/attempt.h"
#include "widgets/card.h"
#include "widgets/format.h"
#include "widgets/labels.h"

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

RunSide::RunSide(QWidget* parent) : QWidget(parent), m_device(new DevicePanel) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(m_device);
  layout->addWidget(makeSettings(), 1);
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
  m_device->showRecord(record);
  m_parameters->setText(formatThousands(record.parameters));
  m_started->setText(dateText(record.created_ms));
  m_spent->setText(record.seconds > 0 ? formatDuration(record.seconds) : noValue());
  m_best->setText(record.best_validation_loss ? formatLoss(*record.best_validation_loss)
                                              : noValue());
  showSpec(record);
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
  QStringList sources;
  for (const CorpusSource& source : spec.sources)
    sources += QFileInfo(QString::fromStdString(source.path)).fileName();
  m_data->setText(sources.isEmpty() ? tr("Built-in stories") : sources.join(", "));
  m_batch->setText(
      tr("%1 tokens a step").arg(formatThousands(spec.train.tokens_per_step(spec.model.context))));
  m_rate->setText(tr("%1, %2").arg(
      formatLearningRate(spec.train.learning_rate),
      QString::fromUtf8(names_of(Schedule{})[static_cast<std::size_t>(spec.train.schedule)].data())
          .replace('_', ' ')));
  m_seed->setText(QString::number(spec.train.seed));
}

}  // namespace athanor
