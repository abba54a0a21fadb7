// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/number_field.h"

#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QStyle>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "widgets/format.h"
#include "widgets/theme.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr int kInset_px = 9;
constexpr int kUnitGap_px = 8;

/// Shortest text that reads back to the same value, so that 0.0003 survives.
QString shortest(double value) {
  QString text = QString::number(value, 'g', 6);
  if (text.toDouble() != value) text = QString::number(value, 'g', QLocale::FloatingPointShortest);
  const qsizetype e = text.indexOf('e');
  if (e < 0) return text;
  return text.left(e + 1) + QString::number(text.mid(e + 1).toInt());
}

QString scientific(double value) {
  if (value == 0) return "0";
  QString text = QString::number(value, 'e', QLocale::FloatingPointShortest);
  const qsizetype e = text.indexOf('e');
  const int exponent = text.mid(e + 1).toInt();
  return exponent >= -2 && exponent <= 3 ? shortest(value)
                                         : text.left(e + 1) + QString::number(exponent);
}

}  // namespace

NumberField::NumberField(NumberKind kind, QWidget* parent) : QLineEdit(parent), m_kind(kind) {
  if (kind == NumberKind::scientific) {
    m_step = 2;
    m_multiplicative = true;
  }
  setText(formatted(m_value));
  connect(this, &QLineEdit::textEdited, this, &NumberField::textWasEdited);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this,
          &NumberField::updateUnitMargin);
}

void NumberField::setValue(double value) {
  const bool differs = value != m_value;
  m_value = value;
  setText(formatted(value));
  setOwnProblem(problemOf(value));
  if (differs) emit valueChanged(m_value);
}

void NumberField::setRange(double minimum, double maximum) {
  m_minimum = minimum;
  m_maximum = maximum;
  setOwnProblem(problemOf(m_value));
}

void NumberField::setStep(double step, bool multiplicative) {
  m_step = step;
  m_multiplicative = multiplicative;
}

void NumberField::setMultiple(double multiple) {
  m_multiple = multiple;
  setOwnProblem(problemOf(m_value));
}

void NumberField::setDecimals(int decimals) {
  m_decimals = decimals;
  setText(formatted(m_value));
}

void NumberField::setUnit(const QString& unit) {
  m_unit = unit;
  describe();
  updateUnitMargin();
}

void NumberField::setSpecialValue(double value, const QString& text) {
  m_hasSpecial = true;
  m_specialValue = value;
  m_specialText = text;
  setText(formatted(m_value));
  setOwnProblem(problemOf(m_value));
}

QString NumberField::problem() const {
  return m_ownProblem.isEmpty() ? m_outerProblem : m_ownProblem;
}

void NumberField::setProblem(const QString& problem) {
  const QString before = this->problem();
  m_outerProblem = problem;
  showProblem(before);
}

QString NumberField::formatted(double value) const {
  if (m_hasSpecial && value == m_specialValue) return m_specialText;
  switch (m_kind) {
    case NumberKind::integer:
      return formatThousands(std::llround(value));
    case NumberKind::scientific:
      return scientific(value);
    case NumberKind::real:
      break;
  }
  // Fixed decimals, unless they would lose what was typed.
  const QString fixed = QString::number(value, 'f', m_decimals);
  return fixed.toDouble() == value ? fixed : shortest(value);
}

QString NumberField::problemOf(double value) const {
  if (m_hasSpecial && value == m_specialValue) return {};
  if (m_kind == NumberKind::integer && value != std::round(value)) return "must be a whole number";
  if (value < m_minimum) return "must be at least " + formatted(m_minimum);
  if (value > m_maximum) return "must be at most " + formatted(m_maximum);
  if (m_multiple > 1 && std::fmod(value, m_multiple) != 0) {
    return "must be a multiple of " + formatThousands(std::llround(m_multiple));
  }
  return {};
}

bool NumberField::read(const QString& text, double& value) const {
  if (m_hasSpecial && text.trimmed().compare(m_specialText, Qt::CaseInsensitive) == 0) {
    value = m_specialValue;
    return true;
  }
  return parseNumber(text, value);
}

void NumberField::textWasEdited(const QString& text) {
  const QString before = problem();
  m_outerProblem.clear();
  double value = 0;
  if (!read(text, value)) {
    m_ownProblem = text.trimmed().isEmpty() ? "needs a number" : "is not a number";
  } else {
    m_ownProblem = problemOf(value);
  }
  showProblem(before);
  if (!m_ownProblem.isEmpty() || value == m_value) return;
  m_value = value;
  emit valueChanged(m_value);
}

void NumberField::stepBy(int steps) {
  if (isReadOnly()) return;
  double value = m_value;
  if (m_hasSpecial && value == m_specialValue) {
    value = std::max(m_minimum, m_specialValue);
  } else if (m_multiplicative) {
    // Rounded to six digits so that halving and doubling come back to the same text.
    value = QString::number(value * std::pow(m_step, steps), 'g', 6).toDouble();
  } else {
    const double step = std::max(m_step, m_multiple > 1 ? m_multiple : m_step);
    value = std::round((value + steps * step) * 1e9) / 1e9;
  }
  if (m_multiple > 1) value = std::round(value / m_multiple) * m_multiple;
  if (m_kind == NumberKind::integer) value = std::round(value);
  setValue(std::clamp(value, m_minimum, m_maximum));
  selectAll();
}

void NumberField::setOwnProblem(const QString& problem) {
  const QString before = this->problem();
  m_ownProblem = problem;
  showProblem(before);
}

void NumberField::showProblem(const QString& before) {
  const QString now = problem();
  if (now == before) return;
  setProperty("problem", !now.isEmpty());
  style()->unpolish(this);
  style()->polish(this);
  describe();
  emit problemChanged(now);
}

void NumberField::setHelp(const QString& help) {
  m_help = help;
  describe();
}

void NumberField::describe() {
  const QString now = problem();
  setToolTip(now.isEmpty() ? m_help : now);
  const QString meaning =
      m_unit.isEmpty() || m_help.isEmpty() ? m_unit + m_help : m_unit + ". " + m_help;
  setAccessibleDescription(now.isEmpty() ? meaning : now);
}

void NumberField::updateUnitMargin() {
  const int width = m_unit.isEmpty() ? 0 : fontMetrics().horizontalAdvance(m_unit) + kUnitGap_px;
  setTextMargins(0, 0, width, 0);
  updateGeometry();
  update();
}

void NumberField::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up:
      stepBy(1);
      return;
    case Qt::Key_Down:
      stepBy(-1);
      return;
    case Qt::Key_PageUp:
      stepBy(10);
      return;
    case Qt::Key_PageDown:
      stepBy(-10);
      return;
    default:
      QLineEdit::keyPressEvent(event);
  }
}

void NumberField::wheelEvent(QWheelEvent* event) {
  event->ignore();
}

void NumberField::focusOutEvent(QFocusEvent* event) {
  double value = 0;
  // A wrong text stays as it was typed, beside its problem.
  if (m_ownProblem.isEmpty() && read(text(), value)) setText(formatted(m_value));
  QLineEdit::focusOutEvent(event);
}

void NumberField::resizeEvent(QResizeEvent* event) {
  QLineEdit::resizeEvent(event);
  updateUnitMargin();
}

void NumberField::paintEvent(QPaintEvent* event) {
  QLineEdit::paintEvent(event);
  if (m_unit.isEmpty()) return;
  QPainter painter(this);
  QColor colour = theme().muted;
  if (!isEnabled()) colour = mixed(colour, theme().surface, 0.55);
  painter.setPen(colour);
  painter.drawText(rect().adjusted(0, 0, -kInset_px, 0), Qt::AlignRight | Qt::AlignVCenter, m_unit);
}

QSize NumberField::sizeHint() const {
  const int unit = textMargins().right();
  return {fontMetrics().horizontalAdvance("00,000,000") + unit + 2 * kInset_px,
          QLineEdit::sizeHint().height()};
}

QSize NumberField::minimumSizeHint() const {
  const int unit = textMargins().right();
  return {fontMetrics().horizontalAdvance("00,000") + unit + 2 * kInset_px,
          QLineEdit::sizeHint().height()};
}

}  // namespace athanor
