// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_ticker.h"

#include <array>
#include <cmath>

#include "widgets/format.h"

namespace athanor {
namespace {

/// Above this ratio a log axis has ticks at round values instead of even steps.
constexpr double kWideRatio = 2.5;
constexpr int kLogTicks = 7;
constexpr std::array<double, 10> kLogHeads = {1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8};
constexpr std::array<double, 16> kTimeSteps_s = {1,   2,   5,    10,   20,   30,   60,    120,
                                                 300, 600, 1200, 1800, 3600, 7200, 14400, 43200};

double niceStep(double span, int count) {
  return nextNice(span / count * 0.999);
}

int decimalsOf(double step) {
  int decimals = 0;
  while (decimals < 6 && std::fabs(step * std::pow(10, decimals) -
                                   std::round(step * std::pow(10, decimals))) > 1e-6) {
    ++decimals;
  }
  return decimals;
}

/// Round values in the range, even in the logarithm as far as they can be.
QVector<double> logTicks(double low, double high) {
  QVector<double> ticks;
  const double least = std::pow(high / low, 1.0 / kLogTicks);
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10, power) <= high;
       ++power) {
    for (const double head : kLogHeads) {
      const double tick = head * std::pow(10, power);
      if (tick < low * 0.999 || tick > high * 1.001) continue;
      if (ticks.isEmpty() || tick >= ticks.back() * least) ticks << tick;
    }
  }
  return ticks;
}

/// The nearest round value at or below.
double logFloor(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  double best = power;
  for (const double head : kLogHeads) {
    if (head * power <= value * (1 + 1e-9)) best = head * power;
  }
  return best;
}

double logCeiling(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double head : kLogHeads) {
    if (head * power >= value * (1 - 1e-9)) return head * power;
  }
  return 10 * power;
}

QString timeLabel(double seconds) {
  const auto s = std::llround(seconds);
  if (s == 0) return "0";
  if (s % 86400 == 0) return QString("%1 d").arg(s / 86400);
  if (s % 3600 == 0) return QString("%1 h").arg(s / 3600);
  if (s % 60 == 0) return QString("%1 min").arg(s / 60);
  return QString("%1 s").arg(s);
}

}  // namespace

double nextNice(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-12)) return factor * power;
  }
  return 10 * power;
}

double XTicker::getTickStep(const QCPRange& range) {
  const double wanted = range.size() / 6;
  if (m_axis != PlotAxis::time) return std::max(1.0, niceStep(range.size(), 6));
  for (const double step : kTimeSteps_s) {
    if (step >= wanted) return step;
  }
  return 86400 * nextNice(wanted / 86400);
}

QString XTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
  if (m_axis == PlotAxis::time) return timeLabel(tick);
  return std::fabs(tick) < 0.5 ? QString("0") : formatCount(tick);
}

QVector<double> YTicker::createTickVector(double, const QCPRange& range) {
  if (m_log && range.lower > 0 && range.upper / range.lower > kWideRatio) {
    m_step = range.lower;
    return logTicks(range.lower, range.upper);
  }
  m_step = niceStep(range.size(), tickCount());
  QVector<double> ticks;
  const double first = std::ceil(range.lower / m_step - 1e-6);
  for (double i = first; i * m_step <= range.upper + m_step * 1e-6; ++i)
    ticks << i * m_step;
  return ticks;
}

QString YTicker::getTickLabel(double tick, const QLocale&, QChar, int) {
  const double size = std::fabs(tick);
  if (size < m_step * 1e-6) return "0";
  if (size >= 1e4) return formatFixed(tick / 1e3, decimalsOf(m_step / 1e3)) + 'k';
  if (size < 0.0099) {
    const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    const double head = std::round(tick / std::pow(10, exponent) * 100) / 100;
    return QString::number(head) + 'e' + QString::number(exponent);
  }
  if (m_log && tick < 1) return QString::number(tick);
  return formatFixed(tick, m_step >= 10 ? 0 : std::max(1, decimalsOf(m_step)));
}

QCPRange snappedRange(double low, double high, bool log) {
  if (log && low > 0 && high / low > kWideRatio) {
    return {logFloor(low), logCeiling(high)};
  }
  if (!(high > low)) {
    // A flat line stands in the middle of a window of its own size.
    const double half = std::max(std::fabs(low) * 0.1, 1e-9);
    low -= half;
    high += half;
  }
  const double step = niceStep(high - low, 5);
  const double floor = std::floor(low / step + 1e-9) * step;
  const double ceiling = std::ceil(high / step - 1e-9) * step;
  return {log && floor <= 0 ? low * 0.95 : floor, ceiling};
}

}  // namespace athanor
