// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/chat_controller.h"

#include <utility>

namespace athanor {

ChatController::ChatController(QObject* parent)
    : QObject(parent), m_cancel(std::make_shared<CancelToken>()), m_thread("chat") {
  m_inbox.relay(&m_worker, &ChatWorker::loaded, [this](int generation, const LoadedModel& model) {
    if (generation == m_generation) emit loaded(model);
  });
  m_inbox.relay(&m_worker, &ChatWorker::piece, [this](int generation, const QString& text) {
    if (generation == m_generation) emit piece(text);
  });
  m_inbox.relay(&m_worker, &ChatWorker::finished,
                [this](int generation, const FinishedAnswer& answer) {
                  if (generation != m_generation) return;
                  m_busy = false;
                  emit finished(answer);
                });
  m_inbox.relay(&m_worker, &ChatWorker::measured, [this](int generation, const Generation& speed) {
    if (generation != m_generation) return;
    m_busy = false;
    emit measured(speed);
  });
  m_inbox.relay(&m_worker, &ChatWorker::failed, [this](int generation, const QString& reason) {
    if (generation != m_generation) return;
    m_busy = false;
    emit failed(reason);
  });
}

ChatController::~ChatController() {
  m_cancel->request();
}

ChatRequest ChatController::begun(ChatRequest request) {
  drop();
  m_cancel = std::make_shared<CancelToken>();
  m_busy = true;
  request.generation = m_generation;
  request.backend = m_backend;
  request.cancel = m_cancel;
  return request;
}

void ChatController::ask(ChatRequest request) {
  m_thread.post([this, asked = begun(std::move(request))] { m_worker.answer(asked); });
}

void ChatController::measure(ChatRequest request) {
  m_thread.post([this, asked = begun(std::move(request))] { m_worker.measure(asked); });
}

void ChatController::stop() {
  m_cancel->request();
}

void ChatController::drop() {
  m_cancel->request();
  ++m_generation;
  m_busy = false;
}

}  // namespace athanor
