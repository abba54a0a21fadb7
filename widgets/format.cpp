// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/format.h"

#include <QLocale>
#include <array>
#include <cmath>

namespace athanor {
namespace {

const QChar kMinus(0x2212);

QString signedText(QString text) {
  if (text.startsWith('-')) text[0] = kMinus;
  return text;
}

/// QLocale::c() leaves group separators out, so they are put in here.
QString grouped(QString digits) {
  const qsizetype dot = digits.indexOf('.');
  const qsizetype first = digits.startsWith('-') ? 1 : 0;
  for (qsizetype at = (dot < 0 ? digits.size() : dot) - 3; at > first; at -= 3) {
    digits.insert(at, ',');
  }
  return signedText(digits);
}

QString twoUnits(std::int64_t big, const char* bigUnit, std::int64_t small, const char* smallUnit,
                 bool pad) {
  const QString rest = pad ? QString("%1").arg(small, 2, 10, QChar('0')) : QString::number(small);
  return QString("%1 %2 %3 %4").arg(big).arg(bigUnit, rest, smallUnit);
}

struct Scale {
  char suffix;
  double factor;
};
constexpr std::array<Scale, 5> kSuffixes = {
    {{'k', 1e3}, {'m', 1e6}, {'b', 1e9}, {'g', 1e9}, {'t', 1e12}}};

}  // namespace

QString noValue() {
  return QString(QChar(0x2013));
}

QString formatThousands(std::int64_t value) {
  return grouped(QString::number(value));
}

QString formatFixed(double value, int decimals) {
  if (!std::isfinite(value)) return "not finite";
  const QString text = grouped(QString::number(value, 'f', decimals));
  // A rounded "−0.00" has no sign worth showing.
  const bool zero = text.startsWith(kMinus) && text.count('0') + text.count('.') == text.size() - 1;
  return zero ? text.mid(1) : text;
}

QString formatCount(double value) {
  if (!std::isfinite(value)) return "not finite";
  const double size = std::fabs(value);
  if (size < 999'500) return formatThousands(std::llround(value));
  const auto scaled = [&](double unit, const char* letter) {
    const double part = value / unit;
    const int decimals = std::fabs(part) < 9.995 ? 2 : (std::fabs(part) < 99.95 ? 1 : 0);
    QString text = formatFixed(part, decimals);
    while (text.contains('.') && (text.endsWith('0') || text.endsWith('.')))
      text.chop(1);
    return text + ' ' + letter;
  };
  if (size < 999.5e6) return scaled(1e6, "M");
  return size < 999.5e9 ? scaled(1e9, "B") : scaled(1e12, "T");
}

QString formatLoss(double value) {
  return formatFixed(value, 3);
}

QString formatLearningRate(double value) {
  if (!std::isfinite(value)) return "not finite";
  if (value == 0) return "0";
  const QString text = QString::number(value, 'e', 2);
  const qsizetype e = text.indexOf('e');
  return signedText(text.left(e)) + 'e' + QString::number(text.mid(e + 1).toInt());
}

QString formatPercent(double share, int decimals) {
  if (!std::isfinite(share)) return "not finite";
  return formatFixed(share * 100, decimals) + " %";
}

QString formatBytes(std::int64_t bytes) {
  const double size = std::fabs(static_cast<double>(bytes));
  if (size < 1024) return formatThousands(bytes) + " B";
  // Each limit is where the smaller unit would round up to 1024.
  if (size < 1023.95 * 1024) return formatFixed(bytes / 1024.0, 1) + " KiB";
  if (size < 1023.95 * 1048576) return formatFixed(bytes / 1048576.0, 1) + " MiB";
  return formatFixed(bytes / 1073741824.0, 2) + " GiB";
}

QString formatGib(std::int64_t bytes) {
  return formatFixed(bytes / 1073741824.0, 2);
}

QString formatDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return noValue();
  if (seconds < 1) return QString("%1 ms").arg(std::llround(seconds * 1000));
  if (seconds < 9.95) return formatFixed(seconds, 1) + " s";
  const std::int64_t s = std::llround(seconds);
  if (s < 60) return QString("%1 s").arg(s);
  if (s < 3600) return twoUnits(s / 60, "min", s % 60, "s", true);
  const std::int64_t min = (s + 30) / 60;
  if (min < 24 * 60) return twoUnits(min / 60, "h", min % 60, "min", true);
  const std::int64_t h = (min + 30) / 60;
  return twoUnits(h / 24, "d", h % 24, "h", false);
}

bool parseNumber(const QString& text, double& value) {
  QString plain = text.trimmed().toLower();
  plain.replace(kMinus, '-');
  plain.remove(',').remove(' ').remove(QChar(0x00a0)).remove(QChar(0x202f));
  double factor = 1;
  for (const Scale& scale : kSuffixes) {
    if (!plain.endsWith(scale.suffix)) continue;
    factor = scale.factor;
    plain.chop(1);
    break;
  }
  bool ok = false;
  const double number = QLocale::c().toDouble(plain, &ok) * factor;
  if (!ok || !std::isfinite(number)) return false;
  value = number;
  return true;
}

}  // namespace athanor
