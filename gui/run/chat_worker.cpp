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

namespace {

Generation answerOf(ChatSession& chat, const ChatRequest& request,
                    const Generator::TextCallback& show) {
  const std::string prompt = request.prompt.toStdString();
  if (chat.chat_template() == nullptr || prompt.empty())
    return chat.generator().generate(prompt, request.sampling, *request.cancel, show);
  Dialogue dialogue = request.before;
  dialogue.messages.push_back({.role = Role::user, .text = prompt});
  return chat.answer(std::move(dialogue), request.sampling, *request.cancel, show);
}

QString templateOf(const ChatSession& chat) {
  if (chat.chat_template() == nullptr) return {};
  const std::string_view name =
      names_of(ChatFormat{})[static_cast<std::size_t>(chat.chat_template()->style().format)];
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

}  // namespace

void ChatWorker::answer(const ChatRequest& request) {
  const int generation = request.generation;
  try {
    if (request.cancel->requested()) throw Cancelled();
    ChatSession& chat = session(request);
    emit loaded(generation, {.step = chat.step(),
                             .notice = QString::fromStdString(chat.notice()),
                             .memoryBytes = chat.generator().allocated_bytes(),
                             .chatTemplate = templateOf(chat),
                             .weightsNote = QString::fromStdString(chat.weights_note())});
    const auto show = [&](const std::string& text) {
      emit piece(generation, QString::fromStdString(text));
    };
    emit finished(generation, answerOf(chat, request, show));
  } catch (const Cancelled&) {
    emit finished(generation, {.text = {}, .end = Generation::End::cancelled});
  } catch (const std::exception& error) {
    emit failed(generation, QString::fromUtf8(error.what()));
  }
}

}  // namespace athanor
