// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/sampling_panel.h"

#include <QPlainTextEdit>
#include <algorithm>

#include "widgets/collapsible.h"
#include "widgets/form_row.h"
#include "widgets/labels.h"
#include "widgets/number_field.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

constexpr int kLabel_px = 96;
constexpr int kStops_px = 56;
constexpr double kMostSeed = 9e15;
constexpr double kMostLength = 1e6;

}  // namespace

SamplingPanel::SamplingPanel(QWidget* parent) : Card(tr("Sampling"), parent) {
  const SamplingOptions defaults;
  content()->setSpacing(0);
  m_temperature = add(content(), tr("Temperature"), defaults.temperature, 0, 10, false);
  m_topK = add(content(), tr("Top-k"), static_cast<double>(defaults.top_k), 0, 1e6, true);
  m_topP = add(content(), tr("Top-p"), defaults.top_p, 0, 1, false);
  m_length =
      add(content(), tr("Length"), static_cast<double>(defaults.max_tokens), 1, kMostLength, true);
  m_length->setUnit(tr("tokens"));
  m_wantedLength = m_length->value();
  connect(m_length, &NumberField::valueChanged, this,
          [this](double value) { m_wantedLength = value; });
  m_seed = add(content(), tr("Seed"), static_cast<double>(defaults.seed), 0, kMostSeed, true);
  addMore();
  m_seed->setToolTip(tr("The same prompt, settings and seed give the same answer"));
  m_temperature->setToolTip(tr("0 always takes the likeliest word"));
}

void SamplingPanel::addMore() {
  const SamplingOptions defaults;
  auto* more = new Collapsible(tr("More"));
  more->setObjectName("moreSampling");
  content()->addWidget(more);
  QVBoxLayout* column = more->content();
  column->setSpacing(0);
  m_minP = add(column, tr("Min-p"), defaults.min_p, 0, 1, false);
  m_typicalP = add(column, tr("Typical-p"), defaults.typical_p, 0, 1, false);
  m_repetition = add(column, tr("Repetition"), defaults.repetition_penalty, 0.1, 10, false);
  m_presence = add(column, tr("Presence"), defaults.presence_penalty, -10, 10, false);
  m_frequency = add(column, tr("Frequency"), defaults.frequency_penalty, -10, 10, false);
  m_repetition->setToolTip(tr("Above 1: what the text has becomes less probable"));
  m_presence->setToolTip(tr("Above 0: what the answer has becomes less probable"));
  m_frequency->setToolTip(tr("The same, as often as the answer has it"));
  m_minP->setToolTip(tr("Only words of at least this share of the likeliest one's probability"));
  m_typicalP->setToolTip(tr("Only the most typical words that reach this together; 1: all"));
  m_stops = new QPlainTextEdit;
  m_stops->setObjectName("stopTexts");
  m_stops->setAccessibleName(tr("Texts that end the answer, one a line"));
  m_stops->setPlaceholderText(tr("End at these texts, one a line; \\n is a line break"));
  m_stops->setTabChangesFocus(true);
  m_stops->setFixedHeight(kStops_px);
  column->addSpacing(6);
  column->addWidget(m_stops);
  column->addSpacing(6);
  column->addWidget(makeLabel(tr("When the context is full"), FontRole::body, Tone::muted));
  m_whenFull = new Segmented(tr("When the context is full"), {tr("Stop"), tr("Slide")});
  m_whenFull->setObjectName("whenFull");
  m_whenFull->setToolTip(tr("Slide: goes on with the newer half of the text"));
  column->addWidget(m_whenFull);
}

NumberField* SamplingPanel::add(QVBoxLayout* to, const QString& label, double value, double least,
                                double most, bool whole) {
  auto* field = new NumberField(whole ? NumberKind::integer : NumberKind::real);
  field->setRange(least, most);
  if (!whole) field->setStep(0.05);
  field->setValue(value);
  auto* row = new FormRow(label, field);
  row->setLabelWidth(kLabel_px);
  to->addWidget(row);
  return field;
}

SamplingOptions SamplingPanel::options() const {
  SamplingOptions options;
  options.temperature = m_temperature->value();
  options.top_k = static_cast<std::int64_t>(m_topK->value());
  options.top_p = m_topP->value();
  options.min_p = m_minP->value();
  options.typical_p = m_typicalP->value();
  options.repetition_penalty = m_repetition->value();
  options.presence_penalty = m_presence->value();
  options.frequency_penalty = m_frequency->value();
  options.seed = static_cast<std::int64_t>(m_seed->value());
  options.max_tokens = static_cast<std::int64_t>(m_length->value());
  options.when_full = static_cast<WhenFull>(m_whenFull->current());
  for (QString line : m_stops->toPlainText().split('\n', Qt::SkipEmptyParts))
    options.stop.push_back(line.replace("\\n", "\n").toStdString());
  return options;
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
