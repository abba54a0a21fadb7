// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/example_dialog.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/conversation_files.h"
#include "gui/run/attempt.h"
#include "widgets/buttons.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr QSize kSize{560, 460};
constexpr int kPromptHeight_px = 90;

QPlainTextEdit* editor(const QString& name, const QString& text) {
  auto* edit = new QPlainTextEdit(text);
  edit->setAccessibleName(name);
  edit->setTabChangesFocus(true);
  return edit;
}

}  // namespace

ExampleDialog::ExampleDialog(const std::filesystem::path& file, const QString& prompt,
                             const QString& answer, QWidget* parent)
    : QDialog(parent),
      m_prompt(editor(tr("Prompt of the example"), prompt)),
      m_answer(editor(tr("Answer of the example"), answer)),
      m_file(new QLineEdit(QString::fromStdString(file.string()))),
      m_problem(makeSentence({}, FontRole::note, Tone::danger)),
      m_add(primaryButton(tr("Add"))) {
  setWindowTitle(tr("Use as a training example"));
  resize(kSize);
  m_prompt->setFixedHeight(kPromptHeight_px);
  m_prompt->setObjectName("examplePrompt");
  m_answer->setObjectName("exampleAnswer");
  m_add->setObjectName("exampleAdd");
  m_file->setAccessibleName(tr("File of the data set"));
  m_problem->hide();
  QPushButton* choose = plainButton(tr("Choose…"), "folder");
  QPushButton* cancel = plainButton(tr("Cancel"));
  connect(choose, &QPushButton::clicked, this, &ExampleDialog::choose);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_add, &QPushButton::clicked, this, &ExampleDialog::add);
  for (QPlainTextEdit* edit : {m_prompt, m_answer})
    connect(edit, &QPlainTextEdit::textChanged, this, &ExampleDialog::updateButton);
  connect(m_file, &QLineEdit::textChanged, this, &ExampleDialog::updateButton);
  auto* place = new QHBoxLayout;
  place->setSpacing(8);
  place->addWidget(m_file, 1);
  place->addWidget(choose);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  buttons->addStretch(1);
  buttons->addWidget(cancel);
  buttons->addWidget(m_add);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(8);
  layout->addWidget(makeLabel(tr("Prompt"), FontRole::emphasis));
  layout->addWidget(m_prompt);
  layout->addWidget(makeLabel(tr("Answer, as it should have been"), FontRole::emphasis));
  layout->addWidget(m_answer, 1);
  layout->addWidget(makeLabel(tr("Data set (one example a line, JSON)"), FontRole::emphasis));
  layout->addLayout(place);
  layout->addWidget(m_problem);
  layout->addLayout(buttons);
  m_answer->setFocus();
  updateButton();
}

std::filesystem::path ExampleDialog::file() const {
  return m_file->text().toStdString();
}

void ExampleDialog::choose() {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Data set"), m_file->text(), tr("Examples (*.jsonl)"), nullptr,
      QFileDialog::DontConfirmOverwrite);  // it is added to
  if (!path.isEmpty()) m_file->setText(path);
}

void ExampleDialog::add() {
  const QString problem = attempt(
      [&] { appendExample(file(), messagesOf(m_prompt->toPlainText(), m_answer->toPlainText())); });
  if (problem.isEmpty()) return accept();
  m_problem->setText(problem);
  m_problem->show();
}

void ExampleDialog::updateButton() {
  const bool complete = !m_prompt->toPlainText().trimmed().isEmpty() &&
                        !m_answer->toPlainText().trimmed().isEmpty() &&
                        !m_file->text().trimmed().isEmpty();
  m_add->setEnabled(complete);
  m_add->setToolTip(complete ? QString() : tr("An example has a prompt, an answer and a file"));
}

}  // namespace athanor
