// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Which tokens a run is made of: learnt from its text, or those of a tokenizer that is there.

#include <QWidget>
#include <optional>

#include "gui/run/tokenizer_reader.h"

class QComboBox;

namespace athanor {

class FormRow;

class TokenizerChoice : public QWidget {
  Q_OBJECT
 public:
  explicit TokenizerChoice(QWidget* parent = nullptr);

  /// A file or folder; empty: learnt from the text.
  const QString& path() const { return m_path; }
  /// How a tiktoken file cuts texts; empty: as its size says.
  const QString& pattern() const { return m_pattern; }
  /// Of the tokenizer at path(); absent until it is read, and when it cannot be.
  const std::optional<TokenizerReport>& tokenizer() const { return m_tokenizer; }
  /// It cannot be used, or is not read yet.
  bool hasProblem() const { return !m_path.isEmpty() && !m_tokenizer; }

  /// Begins to read it.
  void setTokenizer(const QString& path, const QString& pattern = {});
  /// As if the user chose it.
  void choose(const QString& path);

 signals:
  /// By the user.
  void edited();
  /// tokenizer() is known now. `chosen`: by the user, not by setTokenizer().
  void answered(bool chosen);

 private:
  void activate(int index);
  void fill();
  void take(const TokenizerReport& report);

  QString m_path;
  QString m_pattern;
  bool m_chosen = false;
  std::optional<TokenizerReport> m_tokenizer;
  QComboBox* m_box;
  QComboBox* m_patterns;
  FormRow* m_row;
  FormRow* m_patternRow;
  TokenizerReader m_reader;
};

}  // namespace athanor
