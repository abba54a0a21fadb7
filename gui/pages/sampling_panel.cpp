// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/sampling_panel.h"

#include <algorithm>

#include "widgets/form_row.h"
#include "widgets/labels.h"
#include "widgets/number_field.h"

namespace athanor {
namespace {

constexpr int kLabel_px = 96;
constexpr double kMostSeed = 9e15;
constexpr double kMostLength = 1e6;

}  // namespace

SamplingPanel::SamplingPanel(QWidget* parent) : Card(tr("Sampling"), parent) {
  const SamplingOptions defaults;
  content()->setSpacing(0);
  m_temperature = add(tr("Temperature"), defaults.temperature, 0, 10, false);
  m_topK = add(tr("Top-k"), static_cast<double>(defaults.top_k), 0, 1e6, true);
  m_topP = add(tr("Top-p"), defaults.top_p, 0, 1, false);
  m_length = add(tr("Length"), static_cast<double>(defaults.max_tokens), 1, kMostLength, true);
  m_length->setUnit(tr("tokens"));
  m_wantedLength = m_length->value();
  connect(m_length, &NumberField::valueChanged, this,
          [this](double value) { m_wantedLength = value; });
  m_seed = add(tr("Seed"), static_cast<double>(defaults.seed), 0, kMostSeed, true);
  content()->addSpacing(6);
  content()->addWidget(
      makeSentence(tr("The same prompt, settings and seed give the same answer. Temperature 0 "
                      "always takes the likeliest word."),
                   FontRole::note, Tone::muted));
}

NumberField* SamplingPanel::add(const QString& label, double value, double least, double most,
                                bool whole) {
  auto* field = new NumberField(whole ? NumberKind::integer : NumberKind::real);
  field->setRange(least, most);
  if (!whole) field->setStep(0.05);
  field->setValue(value);
  auto* row = new FormRow(label, field);
  row->setLabelWidth(kLabel_px);
  content()->addWidget(row);
  return field;
}

SamplingOptions SamplingPanel::options() const {
  return {.temperature = m_temperature->value(),
          .top_k = static_cast<std::int64_t>(m_topK->value()),
          .top_p = m_topP->value(),
          .seed = static_cast<std::int64_t>(m_seed->value()),
          .max_tokens = static_cast<std::int64_t>(m_length->value())};
}

void SamplingPanel::setContext(std::int64_t tokens) {
  const double wanted = m_wantedLength;
  const double most = tokens > 0 ? static_cast<double>(tokens) : kMostLength;
  m_length->setRange(1, most);
  m_length->setValue(std::min(wanted, most));
  m_wantedLength = wanted;
}

void SamplingPanel::advanceSeed() {
  m_seed->setValue(m_seed->value() + 1);
}

}  // namespace athanor
