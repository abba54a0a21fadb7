// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One row of a form, 33 px: label, field and, below the field, what is wrong with it.

#include <QString>
#include <QWidget>

class QLabel;

namespace athanor {

class FormRow : public QWidget {
  Q_OBJECT
 public:
  /// Takes the field, gives it the label as accessible name, and shows a NumberField's problems.
  FormRow(const QString& label, QWidget* field, QWidget* parent = nullptr);

  QWidget* field() const { return m_field; }
  void setLabelWidth(int width_px);  ///< default 116
  /// Empty hides the line.
  void setProblem(const QString& problem);
  /// Tooltip of label and field, and the field's accessible description.
  void setHelp(const QString& help);
  /// A muted sentence below the field, for example what the setting does; empty hides it.
  void setNote(const QString& note);

 private:
  QLabel* m_label;
  QWidget* m_field;
  QWidget* m_problemRow;
  QLabel* m_problemIcon;
  QLabel* m_problem;
  QLabel* m_note;
};

}  // namespace athanor
