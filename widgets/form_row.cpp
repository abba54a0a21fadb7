// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/form_row.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "widgets/icons.h"
#include "widgets/labels.h"
#include "widgets/number_field.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr int kLabelWidth_px = 116;

}  // namespace

FormRow::FormRow(const QString& label, QWidget* field, QWidget* parent)
    : QWidget(parent),
      m_label(makeSentence(label, FontRole::body, Tone::muted)),
      m_field(field),
      m_problemRow(new QWidget),
      m_problemIcon(new QLabel),
      m_problem(makeSentence({}, FontRole::note, Tone::danger)),
      m_note(makeSentence({}, FontRole::note, Tone::muted)) {
  m_label->setBuddy(field);
  if (field->accessibleName().isEmpty()) field->setAccessibleName(label);
  auto* problem = new QHBoxLayout(m_problemRow);
  problem->setContentsMargins(0, 0, 0, 0);
  problem->setSpacing(4);
  problem->addWidget(m_problemIcon, 0, Qt::AlignTop);
  problem->addWidget(m_problem, 1);
  m_problemRow->hide();
  m_note->hide();
  auto* column = new QVBoxLayout;
  column->setSpacing(2);
  column->addWidget(field);
  column->addWidget(m_problemRow);
  column->addWidget(m_note);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 2, 0, 3);
  layout->setSpacing(0);
  layout->addWidget(m_label, 0, Qt::AlignTop);
  layout->addLayout(column, 1);
  m_label->setMinimumHeight(28);
  setLabelWidth(kLabelWidth_px);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this,
          [this] { setProblem(m_problem->text()); });
  if (auto* number = qobject_cast<NumberField*>(field)) {
    connect(number, &NumberField::problemChanged, this, &FormRow::setProblem);
    setProblem(number->problem());
  }
}

void FormRow::setLabelWidth(int width_px) {
  m_label->setFixedWidth(width_px);
}

void FormRow::setProblem(const QString& problem) {
  m_problemIcon->setPixmap(icon("cross", Tone::danger).pixmap(QSize(14, 14), devicePixelRatioF()));
  m_problem->setText(problem);
  m_problemRow->setHidden(problem.isEmpty());
}

void FormRow::setHelp(const QString& help) {
  m_label->setToolTip(help);
  if (auto* number = qobject_cast<NumberField*>(m_field)) {
    number->setHelp(help);
    return;
  }
  m_field->setToolTip(help);
  m_field->setAccessibleDescription(help);
}

void FormRow::setNote(const QString& note) {
  m_note->setText(note);
  m_note->setHidden(note.isEmpty());
}

}  // namespace athanor
