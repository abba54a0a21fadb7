// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/corpus_panel.h"

#include <QComboBox>
#include <QSignalBlocker>
#include <cmath>

#include "gui/pages/spec_fields.h"
#include "gui/pages/tokenizer_choice.h"
#include "widgets/form_row.h"
#include "widgets/number_field.h"

namespace athanor {
namespace {

QComboBox* makeBox(const char* name, const QStringList& items) {
  auto* box = new QComboBox;
  box->addItems(items);
  box->setObjectName(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  return box;
}

SpecField vocabularyField() {
  for (const SpecField& field : specFields())
    if (field.path == "model.vocabulary") return field;
  return {};
}

}  // namespace

CorpusPanel::CorpusPanel(QWidget* parent)
    : Card(tr("Tokens"), parent),
      m_tokenizer(new TokenizerChoice),
      m_vocabulary(new NumberField),
      m_badRecords(makeBox("badRecords", {tr("left out and counted"), tr("stop the reading")})),
      m_invalid(makeBox("invalidUtf8", {tr("replaced and counted"), tr("kept as they are"),
                                        tr("stop the reading")})),
      m_duplicates(makeBox(
          "duplicates", {tr("kept"), tr("left out where the same"), tr("left out where alike")})),
      m_similarity(new NumberField(NumberKind::real)),
      m_similarityRow(new FormRow(tr("Alike from"), m_similarity)) {
  content()->setSpacing(0);
  const SpecField field = vocabularyField();
  m_vocabulary->setRange(field.bounds.least, field.bounds.most);
  m_vocabulary->setUnit(field.unit);
  m_vocabulary->setObjectName("vocabulary");
  auto* vocabulary = new FormRow(field.label, m_vocabulary);
  vocabulary->setHelp(field.help);
  m_similarity->setRange(0.5, 1);
  m_similarity->setStep(0.05);
  m_similarity->setObjectName("similarity");
  m_similarityRow->setHelp(tr("Share of word groups that two documents have in common"));
  auto* bad = new FormRow(tr("Bad records are"), m_badRecords);
  bad->setHelp(tr("What is no valid record, or has no text; each is named with file and line"));
  auto* invalid = new FormRow(tr("Wrong bytes are"), m_invalid);
  invalid->setHelp(tr("Bytes that are not UTF-8"));
  auto* duplicates = new FormRow(tr("Duplicates are"), m_duplicates);
  duplicates->setHelp(tr("Documents that an earlier one equals, or nearly does"));
  content()->addWidget(m_tokenizer);
  for (FormRow* row : {vocabulary, bad, invalid, duplicates, m_similarityRow})
    content()->addWidget(row);
  connect(m_tokenizer, &TokenizerChoice::edited, this, [this] {
    takeVocabulary(false);
    emit edited();
  });
  connect(m_tokenizer, &TokenizerChoice::answered, this, [this](bool chosen) {
    takeVocabulary(chosen);
    emit edited();
  });
  connect(m_vocabulary, &NumberField::valueChanged, this, &CorpusPanel::edited);
  connect(m_similarity, &NumberField::valueChanged, this, &CorpusPanel::takeOptions);
  for (QComboBox* box : {m_badRecords, m_invalid, m_duplicates})
    connect(box, &QComboBox::activated, this, &CorpusPanel::takeOptions);
  show(presets().front().spec);
}

void CorpusPanel::takeOptions() {
  const ReadOptions before = m_options.read;
  m_options.read.bad_records = static_cast<BadRecords>(m_badRecords->currentIndex());
  m_options.read.invalid_utf8 = static_cast<InvalidUtf8>(m_invalid->currentIndex());
  m_options.duplicates = static_cast<Duplicates>(m_duplicates->currentIndex());
  m_options.similarity = m_similarity->value();
  m_similarityRow->setVisible(m_options.duplicates == Duplicates::remove_near);
  if (before.bad_records != m_options.read.bad_records ||
      before.invalid_utf8 != m_options.read.invalid_utf8) {
    emit readingChanged();
  }
  emit edited();
}

void CorpusPanel::takeVocabulary(bool always) {
  const std::optional<TokenizerReport>& tokenizer = m_tokenizer->tokenizer();
  const Bounds bounds = vocabularyField().bounds;
  const double least = tokenizer ? static_cast<double>(tokenizer->tokens) : bounds.least;
  const QSignalBlocker quiet(m_vocabulary);
  m_vocabulary->setRange(least, bounds.most);
  if (tokenizer && (always || m_vocabulary->value() < least))
    m_vocabulary->setValue(static_cast<double>(tokenizer->padded));
}

void CorpusPanel::fill(RunSpec& spec) const {
  spec.data.corpus = m_options;
  spec.data.tokenizer = m_tokenizer->path().toStdString();
  spec.data.tokenizer_pattern = m_tokenizer->pattern().toStdString();
  spec.model.vocabulary = std::llround(m_vocabulary->value());
}

void CorpusPanel::show(const RunSpec& spec) {
  const QSignalBlocker quiet(this);
  m_options = spec.data.corpus;
  m_badRecords->setCurrentIndex(static_cast<int>(m_options.read.bad_records));
  m_invalid->setCurrentIndex(static_cast<int>(m_options.read.invalid_utf8));
  m_duplicates->setCurrentIndex(static_cast<int>(m_options.duplicates));
  m_similarity->setValue(m_options.similarity);
  m_similarityRow->setVisible(m_options.duplicates == Duplicates::remove_near);
  m_tokenizer->setTokenizer(QString::fromStdString(spec.data.tokenizer),
                            QString::fromStdString(spec.data.tokenizer_pattern));
  takeVocabulary(false);
  m_vocabulary->setValue(static_cast<double>(spec.model.vocabulary));
}

bool CorpusPanel::hasProblem() const {
  return m_tokenizer->hasProblem() || !m_vocabulary->problem().isEmpty() ||
         !m_similarity->problem().isEmpty();
}

}  // namespace athanor
