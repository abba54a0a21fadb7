// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/source_previewer.h"

#include <exception>

namespace athanor {

SourcePreviewer::SourcePreviewer(QObject* parent)
    : QObject(parent), m_cancel(std::make_shared<CancelToken>()), m_thread("preview") {}

SourcePreviewer::~SourcePreviewer() {
  m_cancel->request();
}

void SourcePreviewer::ask(int ticket, const CorpusSource& source, const ReadOptions& options) {
  m_thread.post([this, ticket, source, options, cancel = m_cancel] {
    SourcePreview preview;
    try {
      preview = preview_source(source, options, {}, *cancel);
    } catch (const Cancelled&) {
      return;
    } catch (const std::exception& error) {
      preview.problem = error.what();
    }
    m_inbox.post([this, ticket, preview, cancel] {
      if (!cancel->requested()) emit answered(ticket, preview);
    });
  });
}

void SourcePreviewer::dropAll() {
  m_cancel->request();
  m_cancel = std::make_shared<CancelToken>();
}

}  // namespace athanor
