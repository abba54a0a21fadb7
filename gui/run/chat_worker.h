// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Loads checkpoints and writes answers, on its own thread.

#include <QObject>
#include <QString>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/base/cancel_token.h"
#include "engine/session/chat_session.h"
#include "gui/models/answer_tokens.h"

namespace athanor {

/// What was said so far, to one checkpoint.
struct ChatRequest {
  int generation = 0;
  std::filesystem::path runFolder;
  std::optional<std::int64_t> step;  ///< absent: the newest good checkpoint
  /// Ends with the prompt; a model without a chat template continues that alone.
  Dialogue dialogue;
  SamplingOptions sampling;
  WeightFormat weights = WeightFormat::as_saved;
  BackendOptions backend;
  std::shared_ptr<CancelToken> cancel;
};

/// The checkpoint that answers, and what a person should know of it.
struct LoadedModel {
  qint64 step = 0;
  QString notice;  ///< newer checkpoints that are damaged; mostly empty
  qint64 memoryBytes = 0;
  QString chatTemplate;  ///< how it was taught to answer; empty: it continues text
  QString weightsNote;   ///< weights that are not kept as was asked; mostly empty
};

/// An answer, and its tokens where they were asked for.
struct FinishedAnswer {
  Generation made;
  QVector<TextToken> tokens;
};

/// answer() and measure() are called on the worker's own thread; each signal carries the request's
/// generation.
class ChatWorker : public QObject {
  Q_OBJECT
 public:
  void answer(const ChatRequest& request);
  /// How fast the request's model reads and writes; its prompt is not used.
  void measure(const ChatRequest& request);

 signals:
  void loaded(int generation, const athanor::LoadedModel& model);
  void piece(int generation, const QString& text);
  void finished(int generation, const athanor::FinishedAnswer& answer);
  void measured(int generation, const athanor::Generation& speed);
  void failed(int generation, const QString& reason);

 private:
  ChatSession& session(const ChatRequest& request);
  void tellLoaded(int generation, ChatSession& chat);

  std::filesystem::path m_folder;
  std::optional<std::int64_t> m_step;
  WeightFormat m_weights = WeightFormat::as_saved;
  BackendOptions m_backend;
  std::unique_ptr<ChatSession> m_session;
};

}  // namespace athanor
