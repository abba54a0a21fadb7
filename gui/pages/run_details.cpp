// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_details.h"

#include <QFormLayout>
#include <QGridLayout>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>
#include <cmath>

#include "gui/models/run_status.h"
#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr int kNotes_px = 56;
constexpr int kTyping_ms = 600;

QString memoryText(const RunRecord& record) {
  const QString planned = RunDetails::tr("%1 planned").arg(formatBytes(record.planned_bytes));
  if (record.peak_resident_bytes <= 0) return planned;
  return RunDetails::tr("%1; the whole program %2 at its highest")
      .arg(planned, formatBytes(record.peak_resident_bytes));
}

QString rehearsalText(const RehearsalRow& row) {
  const QString bytes = RunDetails::tr("%1 planned, %2 taken, %3 outside")
                            .arg(formatBytes(row.planned_bytes), formatBytes(row.taken_bytes),
                                 formatBytes(row.outside_bytes));
  const QString measured = formatThousands(std::llround(row.tokens_per_second));
  if (!row.predicted_tokens_per_second) {
    return RunDetails::tr("%1; %2 tokens/s").arg(bytes, measured);
  }
  return RunDetails::tr("%1; %2 tokens/s predicted, %3 measured")
      .arg(bytes, formatThousands(std::llround(*row.predicted_tokens_per_second)), measured);
}

}  // namespace

RunDetails::RunDetails(QWidget* parent)
    : Card(tr("No run chosen"), parent),
      m_form(new QFormLayout),
      m_problem(makeSentence({}, FontRole::body, Tone::danger)),
      m_notes(new QPlainTextEdit),
      m_open(plainButton(tr("Open"), "run")),
      m_talk(plainButton(tr("Chat"), "chat")),
      m_resume(plainButton(tr("Resume"), "play")),
      m_resumeMenu(new QMenu(this)),
      m_clone(plainButton(tr("Clone"), "copy")),
      m_export(plainButton(tr("Export…"), "export")),
      m_rename(iconButton("pencil", tr("Rename"))),
      m_delete(plainButton(tr("Delete"), "trash")) {
  content()->addWidget(m_problem);
  m_form->setContentsMargins(0, 0, 0, 0);
  m_form->setHorizontalSpacing(12);
  m_form->setVerticalSpacing(6);
  m_parameters = addRow(tr("Parameters"));
  m_origin = addRow(tr("Imported from"));
  m_data = addRow(tr("Data"));
  m_tokens = addRow(tr("Trained on"));
  m_memory = addRow(tr("Memory"));
  m_rehearsal = addRow(tr("Rehearsed"));
  m_device = addRow(tr("Device"));
  m_checkpoints = addRow(tr("Checkpoints"));
  content()->addLayout(m_form);
  m_notes->setPlaceholderText(tr("Notes"));
  m_notes->setAccessibleName(tr("Notes on this run"));
  m_notes->setTabChangesFocus(true);
  m_notes->setMinimumHeight(kNotes_px);
  content()->addWidget(m_notes, 1);
  m_typing.setSingleShot(true);
  m_typing.setInterval(kTyping_ms);
  connect(m_notes, &QPlainTextEdit::textChanged, this, [this] { m_typing.start(); });
  connect(&m_typing, &QTimer::timeout, this, &RunDetails::keepNotes);
  makeButtons();
  showRun(std::nullopt, std::nullopt, {}, false);
}

void RunDetails::keepNotes() {
  m_typing.stop();
  if (m_runId != 0) emit notesEdited(m_runId, m_notes->toPlainText());
}

QLabel* RunDetails::addRow(const QString& name) {
  QLabel* label = makeLabel(name, FontRole::body, Tone::muted);
  label->setMinimumWidth(84);
  QLabel* value = makeSentence(noValue());
  m_form->addRow(label, value);
  return value;
}

void RunDetails::makeButtons() {
  auto* grid = new QGridLayout;
  grid->setSpacing(8);
  grid->addWidget(m_open, 0, 0);
  grid->addWidget(m_talk, 0, 1);
  grid->addWidget(m_resume, 0, 2);
  grid->addWidget(m_clone, 1, 0);
  grid->addWidget(m_export, 1, 1);
  grid->addWidget(m_delete, 1, 2);
  for (int column = 0; column < 3; ++column)
    grid->setColumnStretch(column, 1);
  content()->addLayout(grid);
  addHeaderWidget(m_rename);
  m_delete->setObjectName("delete");
  m_export->setObjectName("export");
  connect(m_open, &QPushButton::clicked, this, &RunDetails::openRequested);
  connect(m_talk, &QPushButton::clicked, this, &RunDetails::talkRequested);
  m_resume->setObjectName("resume");
  m_clone->setObjectName("clone");
  m_clone->setToolTip(tr("Plan a new run with the same settings"));
  m_resume->setMenu(m_resumeMenu);
  m_export->setToolTip(tr("Write the model for other programs"));
  connect(m_export, &QPushButton::clicked, this, &RunDetails::exportRequested);
  connect(m_clone, &QPushButton::clicked, this, &RunDetails::cloneRequested);
  connect(m_rename, &QToolButton::clicked, this, &RunDetails::renameRequested);
  connect(m_delete, &QPushButton::clicked, this, &RunDetails::deleteRequested);
}

void RunDetails::fillResumeMenu(std::vector<std::int64_t> from) {
  // An open menu would close under the pointer.
  if (from == m_steps) return;
  m_steps = std::move(from);
  m_resumeMenu->clear();
  for (auto step = m_steps.rbegin(); step != m_steps.rend(); ++step) {
    const QString words = tr("From step %1").arg(formatThousands(*step));
    m_resumeMenu->addAction(words, this, [this, at = *step] { emit resumeFromRequested(at); });
  }
}

void RunDetails::showData(const QString& source, const QString& fingerprint) {
  m_data->setText(fingerprint.isEmpty() ? source
                                        : tr("%1, fingerprint %2").arg(source, fingerprint));
}

void RunDetails::showOrigin(const RunRecord& record) {
  const QString from = importedFrom(record);
  m_origin->setText(from);
  m_form->setRowVisible(m_origin, !from.isEmpty());
  for (QLabel* label : {m_data, m_tokens, m_memory, m_rehearsal, m_device})
    m_form->setRowVisible(label, from.isEmpty());
}

void RunDetails::showRun(const std::optional<RunRecord>& record,
                         const std::optional<RehearsalRow>& rehearsal,
                         const std::vector<CheckpointRow>& checkpoints, bool canResume) {
  const RunRecord shown = record.value_or(RunRecord{});
  const bool there = record.has_value();
  if (shown.id != m_runId) {
    if (m_typing.isActive()) keepNotes();
    m_runId = shown.id;
    const QSignalBlocker quiet(m_notes);
    m_notes->setPlainText(QString::fromStdString(shown.notes));
  }
  m_notes->setEnabled(there);
  std::vector<std::int64_t> from;
  for (const CheckpointRow& row : checkpoints) {
    // A finished run has nothing left to do after its last step.
    if (row.step < shown.steps) from.push_back(row.step);
  }
  const bool mayGoOn = there && canResume && !isLive(shown.status) && !from.empty();
  setTitle(there ? QString::fromStdString(shown.name) : tr("No run chosen"));
  m_problem->setText(QString::fromStdString(shown.problem));
  m_problem->setHidden(shown.problem.empty());
  m_parameters->setText(there ? formatThousands(shown.parameters) : noValue());
  m_tokens->setText(there ? tr("%1 tokens").arg(formatCount(static_cast<double>(shown.tokens)))
                          : noValue());
  m_memory->setText(there && shown.planned_bytes > 0 ? memoryText(shown) : noValue());
  showOrigin(shown);
  m_rehearsal->setText(rehearsal ? rehearsalText(*rehearsal) : noValue());
  m_device->setText(shown.device.empty() ? noValue() : QString::fromStdString(shown.device));
  m_checkpoints->setText(there ? QString::number(checkpoints.size()) : noValue());
  m_open->setEnabled(there);
  m_talk->setEnabled(there && !checkpoints.empty());
  m_export->setEnabled(there && !checkpoints.empty());
  m_resume->setEnabled(mayGoOn);
  m_resume->setToolTip(
      mayGoOn ? tr("From step %1 it trains %2 steps again")
                    .arg(formatThousands(from.back()),
                         formatThousands(std::max<std::int64_t>(0, shown.step - from.back())))
              : QString());
  fillResumeMenu(std::move(from));
  m_clone->setEnabled(there);
  m_rename->setEnabled(there);
  m_delete->setEnabled(there && !isLive(shown.status));
  m_delete->setToolTip(there && isLive(shown.status) ? tr("It is being trained; stop it first")
                                                     : QString());
}

}  // namespace athanor
