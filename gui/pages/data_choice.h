// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a run learns from, and in which tokens: the rows of the plan's form about both.

#include <QWidget>
#include <vector>

#include "engine/session/run_spec.h"

class QComboBox;

namespace athanor {

class FormRow;
class TokenizerChoice;

class DataChoice : public QWidget {
  Q_OBJECT
 public:
  explicit DataChoice(QWidget* parent = nullptr);

  /// Writes sources, what becomes of them, and the tokenizer.
  void fill(RunSpec& spec) const;
  void show(const RunSpec& spec);
  /// The same without the tokenizer.
  void showSources(const RunSpec& spec);
  /// One file or folder; empty: the built-in stories.
  void setText(const QString& path);

  /// "stories", "my-text" or "3 sources".
  QString title() const;
  bool hasProblem() const;
  /// Looks again whether the files are there.
  void check();
  TokenizerChoice* tokenizer() const { return m_tokenizer; }

 signals:
  void edited();

 private:
  void activate(int index);
  void fillBox();
  void choose(const QString& path);

  std::vector<CorpusSource> m_sources;
  CorpusOptions m_options;
  QString m_problem;
  QComboBox* m_box;
  FormRow* m_row;
  TokenizerChoice* m_tokenizer;
};

}  // namespace athanor
