// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/system_panel.h"

#include <QLabel>
#include <QPlainTextEdit>

#include "gui/run/chat_worker.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr int kText_px = 36;

}  // namespace

SystemPanel::SystemPanel(QWidget* parent)
    : Card(tr("System prompt"), parent),
      m_text(new QPlainTextEdit),
      m_template(makeSentence({}, FontRole::note, Tone::muted)) {
  m_text->setObjectName("systemPrompt");
  m_text->setAccessibleName(tr("System prompt"));
  m_text->setPlaceholderText(tr("none"));
  m_text->setTabChangesFocus(true);
  m_text->setFixedHeight(kText_px);
  m_template->setObjectName("chatTemplate");
  content()->addWidget(m_text);
  content()->addWidget(m_template);
  clearLoaded();
}

QString SystemPanel::text() const {
  return m_text->toPlainText();
}

void SystemPanel::setLoaded(const LoadedModel& model) {
  m_text->setEnabled(!model.chatTemplate.isEmpty());
  m_template->setText(model.chatTemplate.isEmpty() ? tr("No template: it continues texts")
                                                   : tr("Template: %1").arg(model.chatTemplate));
}

void SystemPanel::clearLoaded() {
  m_text->setEnabled(true);
  m_template->setText(tr("For models with a chat template"));
}

}  // namespace athanor
