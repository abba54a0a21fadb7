// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What becomes of the sources' documents: tokens of which kind, and what is left out.

#include "engine/session/run_spec.h"
#include "widgets/card.h"

class QComboBox;

namespace athanor {

class FormRow;
class NumberField;
class TokenizerChoice;

class CorpusPanel : public Card {
  Q_OBJECT
 public:
  explicit CorpusPanel(QWidget* parent = nullptr);

  /// Writes options, tokenizer and vocabulary.
  void fill(RunSpec& spec) const;
  void show(const RunSpec& spec);
  const CorpusOptions& options() const { return m_options; }
  /// A tokenizer cannot be used or is not read yet, or a number is none.
  bool hasProblem() const;
  TokenizerChoice* tokenizer() const { return m_tokenizer; }

 signals:
  void edited();
  /// How files are read, which previews depend on; edited() too.
  void readingChanged();

 private:
  void takeOptions();
  void takeVocabulary(bool always);

  CorpusOptions m_options;
  TokenizerChoice* m_tokenizer;
  NumberField* m_vocabulary;
  QComboBox* m_badRecords;
  QComboBox* m_invalid;
  QComboBox* m_duplicates;
  NumberField* m_similarity;
  FormRow* m_similarityRow;
};

}  // namespace athanor
