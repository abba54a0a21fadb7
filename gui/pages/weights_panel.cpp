// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/weights_panel.h"

#include "gui/run/chat_worker.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/segmented.h"

namespace athanor {

WeightsPanel::WeightsPanel(QWidget* parent)
    : Card(tr("Weights"), parent),
      m_format(new Segmented(tr("Weights"), {tr("As saved"), tr("8 bit"), tr("4 bit")})),
      m_memory(makeSentence({}, FontRole::note, Tone::muted)) {
  m_format->setObjectName("weights");
  m_memory->setObjectName("weightsMemory");
  content()->addWidget(m_format);
  content()->addWidget(m_memory);
  connect(m_format, &Segmented::currentChanged, this, &WeightsPanel::clearLoaded);
  clearLoaded();
}

WeightFormat WeightsPanel::format() const {
  return static_cast<WeightFormat>(m_format->current());
}

QString WeightsPanel::shortName() const {
  switch (format()) {
    case WeightFormat::q8_0:
      return tr("8 bit");
    case WeightFormat::q4_0:
      return tr("4 bit");
    case WeightFormat::as_saved:
      break;
  }
  return {};
}

void WeightsPanel::setLoaded(const LoadedModel& model) {
  QString text = tr("The model takes %1.").arg(formatBytes(model.memoryBytes));
  if (!model.weightsNote.isEmpty()) text += " " + model.weightsNote;
  m_memory->setText(text);
}

void WeightsPanel::clearLoaded() {
  m_memory->setText(
      tr("Fewer bits take less memory and time, and round the weights. The next answer shows how "
         "much."));
}

}  // namespace athanor
