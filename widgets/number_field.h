// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A one-line number input: thousands or scientific notation, unit inside, steps by Up and Down.

#include <QLineEdit>
#include <QString>

namespace athanor {

enum class NumberKind { integer, real, scientific };

/// While the text is no number, out of range or off the multiple, problem() says so in words, the
/// edge turns to danger and value() stays the last valid one. The wheel never changes it.
class NumberField : public QLineEdit {
  Q_OBJECT
 public:
  explicit NumberField(NumberKind kind = NumberKind::integer, QWidget* parent = nullptr);

  double value() const { return m_value; }
  /// Sets and formats the text; emits valueChanged only when the value differs.
  void setValue(double value);

  void setRange(double minimum, double maximum);
  /// Step of the Up and Down keys; Page Up and Page Down take ten. With `multiplicative` the value
  /// is multiplied and divided by it instead. Default 1; scientific fields use ×2.
  void setStep(double step, bool multiplicative = false);
  /// Integer fields: the value must be a multiple of this (1 allows all).
  void setMultiple(double multiple);
  void setDecimals(int decimals);  ///< real fields; default 2
  void setUnit(const QString& unit);
  /// Shows `text` (for example "Auto") for this one value, which is valid whatever the range.
  void setSpecialValue(double value, const QString& text);

  /// The problem shown now: the field's own, or the one set from outside; empty when there is none.
  QString problem() const;
  /// A problem only the page knows; empty clears it. It goes when the text is edited.
  void setProblem(const QString& problem);
  /// What the number means: tooltip and accessible description while there is no problem.
  void setHelp(const QString& help);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void valueChanged(double value);  ///< each valid edit, also while typing
  void problemChanged(const QString& problem);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QString formatted(double value) const;
  QString problemOf(double value) const;
  bool read(const QString& text, double& value) const;
  void textWasEdited(const QString& text);
  void stepBy(int steps);
  void setOwnProblem(const QString& problem);
  void showProblem(const QString& before);
  void describe();
  void updateUnitMargin();

  NumberKind m_kind;
  double m_value = 0;
  double m_minimum = 0;
  double m_maximum = 1e15;
  double m_step = 1;
  bool m_multiplicative = false;
  double m_multiple = 1;
  int m_decimals = 2;
  bool m_hasSpecial = false;
  double m_specialValue = 0;
  QString m_specialText;
  QString m_unit;
  QString m_help;
  QString m_ownProblem;
  QString m_outerProblem;
};

}  // namespace athanor
