// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/chat_worker.h"

#include <algorithm>

namespace athanor {
namespace {

QString templateOf(const ChatSession& chat) {
  if (chat.chat_template() == nullptr) return {};
  const ChatFormat format = chat.chat_template()->style().format;
  const std::string_view name = names_of(format)[static_cast<std::size_t>(format)];
  return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

}  // namespace

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
    tellLoaded(request.generation, chat);
    const auto tell = [&](const std::string& text) {
      emit piece(generation, QString::fromStdString(text));
    };
    const Generation made =
        chat.chat_template() != nullptr
            ? chat.answer(request.dialogue, request.sampling, *request.cancel, tell)
            : chat.generator().generate(request.dialogue.messages.back().text, request.sampling,
                                        *request.cancel, tell);
    emit finished(generation, {made, tokensOf(made, chat.tokenizer())});
  } catch (const Cancelled&) {
    emit finished(generation, {{.text = {}, .end = Generation::End::cancelled}, {}});
  } catch (const std::exception& error) {
    emit failed(generation, QString::fromUtf8(error.what()));
  }
}

void ChatWorker::tellLoaded(int generation, ChatSession& chat) {
  emit loaded(generation, {.step = chat.step(),
                           .notice = QString::fromStdString(chat.notice()),
                           .memoryBytes = chat.generator().allocated_bytes(),
                           .chatTemplate = templateOf(chat),
                           .weightsNote = QString::fromStdString(chat.weights_note())});
}

void ChatWorker::measure(const ChatRequest& request) {
  constexpr std::int64_t kPrompt_tokens = 512;
  constexpr std::int64_t kAnswer_tokens = 128;
  try {
    ChatSession& chat = session(request);
    tellLoaded(request.generation, chat);
    const std::int64_t half = chat.model().context / 2;
    emit measured(request.generation,
                  chat.generator().measure_speed(std::min(kPrompt_tokens, half),
                                                 std::min(kAnswer_tokens, half), *request.cancel));
  } catch (const std::exception& error) {
    emit failed(request.generation, QString::fromUtf8(error.what()));
  }
}

}  // namespace athanor
