// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Reads a tokenizer's file or folder beside the window's thread.

#include <QObject>
#include <QString>
#include <cstdint>

#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

class Tokenizer;

struct TokenizerReport {
  QString problem;            ///< a sentence when it cannot be used; the rest is then empty
  bool wantsPattern = false;  ///< it may do with another pattern
  std::int64_t tokens = 0;    ///< a model's vocabulary must have room for
  std::int64_t padded = 0;    ///< what suits a model
  QString endOfText;          ///< how the token that ends a text is written
};

/// Only the newest question is answered.
class TokenizerReader : public QObject {
  Q_OBJECT
 public:
  explicit TokenizerReader(QObject* parent = nullptr);

  void read(const QString& path, const QString& pattern);
  /// An answer that is under way never comes.
  void drop() { ++m_generation; }

 signals:
  void answered(const athanor::TokenizerReport& report);

 private:
  int m_generation = 0;
  Inbox m_inbox;
  TaskThread m_thread;
};

/// How a token is written that controls the model and stands in no text; empty for others.
QString spelledSpecial(const Tokenizer& tokenizer, std::int32_t id);

}  // namespace athanor
