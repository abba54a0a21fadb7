// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/chat_worker.h"

namespace athanor {

ChatSession& ChatWorker::session(const ChatRequest& request) {
  // "The newest" may be another one by now; only a named step stays what it was.
  const bool same = m_session && request.step && m_folder == request.runFolder &&
                    m_step == request.step && m_weights == request.weights &&
                    m_backend == request.backend;
  if (!same) {
    m_session.reset();
    m_session = std::make_unique<ChatSession>(request.runFolder, request.step, request.backend,
                                              request.weights);
    m_folder = request.runFolder;
    m_step = request.step;
    m_weights = request.weights;
    m_backend = request.backend;
  }
  return *m_session;
}

void ChatWorker::answer(const ChatRequest& request) {
  const int generation = request.generation;
  try {
    if (request.cancel->requested()) throw Cancelled();
    ChatSession& chat = session(request);
    emit loaded(generation, {.step = chat.step(),
                             .notice = QString::fromStdString(chat.notice()),
                             .memoryBytes = chat.generator().allocated_bytes(),
                             .weightsNote = QString::fromStdString(chat.weights_note())});
    emit finished(generation, chat.respond(request.prompt.toStdString(), request.sampling,
                                           *request.cancel, [&](const std::string& text) {
                                             emit piece(generation, QString::fromStdString(text));
                                           }));
  } catch (const Cancelled&) {
    emit finished(generation, {.text = {}, .end = Generation::End::cancelled});
  } catch (const std::exception& error) {
    emit failed(generation, QString::fromUtf8(error.what()));
  }
}

}  // namespace athanor
