// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace athanor {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr qsizetype kQuantileSamples = 4096;

double drawable(double value, bool log_y) {
  return std::isfinite(value) && !(log_y && value <= 0) ? value : kNaN;
}

struct IndexRange {
  qsizetype first = 0;
  qsizetype last = 0;  ///< one past
};

/// The visible points and one neighbour on each side, so that lines leave the window.
IndexRange visible(const QVector<PlotPoint>& points, const PlotWindow& window) {
  const auto before = [&](const PlotPoint& p, double x) { return xOf(p, window.axis) < x; };
  const auto after = [&](double x, const PlotPoint& p) { return x < xOf(p, window.axis); };
  const auto low = std::lower_bound(points.begin(), points.end(), window.low, before);
  const auto high = std::upper_bound(points.begin(), points.end(), window.high, after);
  return {std::max<qsizetype>(0, low - points.begin() - 1),
          std::min<qsizetype>(points.size(), high - points.begin() + 1)};
}

/// Collects the points of one pixel column and writes what stands for them.
class Column {
 public:
  Column(PlotLine& line, Reduction reduction) : m_line(line), m_reduction(reduction) {}

  void add(double x, double y) {
    low({x, y, m_count});
    high({x, y, m_count});
    addMean(x, y, 1);
  }

  void addBlock(const PlotBlock& block, const PlotPoint* first, PlotAxis axis) {
    low({xOf(first[block.lowAt], axis), block.low, m_count + block.lowAt});
    high({xOf(first[block.highAt], axis), block.high, m_count + block.highAt});
    addMean(xOf(first[kBlockPoints / 2], axis), block.mean, kBlockPoints);
  }

  void flush() {
    if (m_count == 0) return;
    if (m_reduction == Reduction::mean) {
      put(m_meanX, m_meanY);
    } else if (m_low.order == m_high.order) {
      put(m_low.x, m_low.y);
    } else {
      const bool lowFirst = m_low.order < m_high.order;
      put((lowFirst ? m_low : m_high).x, (lowFirst ? m_low : m_high).y);
      put((lowFirst ? m_high : m_low).x, (lowFirst ? m_high : m_low).y);
    }
    m_count = 0;
  }

  void breakLine(double x) {
    flush();
    if (!m_line.y.isEmpty() && std::isfinite(m_line.y.back())) put(x, kNaN);
  }

 private:
  struct Extreme {
    double x = 0;
    double y = 0;
    qsizetype order = 0;
  };

  void low(const Extreme& e) {
    if (m_count == 0 || e.y < m_low.y) m_low = e;
  }

  void high(const Extreme& e) {
    if (m_count == 0 || e.y > m_high.y) m_high = e;
  }

  /// A running mean stays exactly at a constant; a sum divided does not.
  void addMean(double x, double y, qsizetype count) {
    m_count += count;
    const double share = static_cast<double>(count) / m_count;
    m_meanX = share == 1 ? x : m_meanX + (x - m_meanX) * share;
    m_meanY = share == 1 ? y : m_meanY + (y - m_meanY) * share;
  }

  void put(double x, double y) {
    m_line.x << x;
    m_line.y << y;
  }

  PlotLine& m_line;
  Reduction m_reduction;
  Extreme m_low;
  Extreme m_high;
  double m_meanX = 0;
  double m_meanY = 0;
  qsizetype m_count = 0;
};

/// Whether a whole block begins at `index` and can stand for its points.
bool blockUsable(const PlotSource& source, qsizetype index, qsizetype last, bool log_y) {
  if (index % kBlockPoints != 0 || index + kBlockPoints > last) return false;
  if (index / kBlockPoints >= source.blocks->size()) return false;
  const PlotBlock& block = (*source.blocks)[index / kBlockPoints];
  return block.finite && !(log_y && block.low <= 0);
}

}  // namespace

void ValueRange::include(double value) {
  if (!std::isfinite(value)) return;
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

double xOf(const PlotPoint& point, PlotAxis axis) {
  switch (axis) {
    case PlotAxis::step:
      return point.step;
    case PlotAxis::tokens:
      return point.tokens;
    case PlotAxis::time:
      return point.seconds;
  }
  return point.step;
}

PlotLine reduced(const PlotSource& source, const PlotWindow& window, Reduction reduction) {
  PlotLine line;
  const auto [first, last] = visible(source.points, window);
  const qsizetype columns = window.columns;
  const bool all = last - first <= 2 * columns;
  const bool byBlocks = source.blocks != nullptr && last - first >= 2 * kBlockPoints * columns;
  const double scale = columns / std::max(window.high - window.low, 1e-300);
  line.x.reserve(std::min<qsizetype>(last - first, 3 * columns + 8));
  line.y.reserve(line.x.capacity());
  Column column(line, reduction);
  double current = kNaN;
  for (qsizetype i = first; i < last;) {
    const PlotPoint* point = source.points.constData() + i;
    const double x = xOf(*point, window.axis);
    const double place = std::floor((x - window.low) * scale);
    if (all || place != current) column.flush();
    current = place;
    if (byBlocks && blockUsable(source, i, last, window.log_y)) {
      column.addBlock((*source.blocks)[i / kBlockPoints], point, window.axis);
      i += kBlockPoints;
      continue;
    }
    const double y = drawable(source.value(i), window.log_y);
    if (std::isnan(y)) {
      column.breakLine(x);
    } else {
      column.add(x, y);
    }
    ++i;
  }
  column.flush();
  return line;
}

ValueRange valueRange(const PlotSource& source, const PlotWindow& window, bool clip) {
  ValueRange range;
  const auto [first, last] = visible(source.points, window);
  for (qsizetype i = first; i < last;) {
    if (source.blocks != nullptr && blockUsable(source, i, last, window.log_y)) {
      range.include((*source.blocks)[i / kBlockPoints].low);
      range.include((*source.blocks)[i / kBlockPoints].high);
      i += kBlockPoints;
    } else {
      range.include(drawable(source.value(i), window.log_y));
      ++i;
    }
  }
  if (!clip) return range;
  QVector<double> sample;
  const qsizetype stride = std::max<qsizetype>(1, (last - first) / kQuantileSamples);
  for (qsizetype i = first; i < last; i += stride) {
    const double value = drawable(source.value(i), window.log_y);
    if (!std::isnan(value)) sample << value;
  }
  if (sample.size() < 20) return range;
  const auto quantile = [&](double share) {
    const auto at = sample.begin() + static_cast<qsizetype>(share * (sample.size() - 1));
    std::nth_element(sample.begin(), at, sample.end());
    return *at;
  };
  const double low = quantile(0.05);
  const double high = quantile(0.95);
  const double margin = 0.5 * (high - low);
  range.low = std::max(range.low, low - margin);
  range.high = std::min(range.high, high + margin);
  return range;
}

qsizetype nearestPoint(const QVector<PlotPoint>& points, PlotAxis axis, double x) {
  if (points.isEmpty()) return -1;
  const auto after =
      std::lower_bound(points.begin(), points.end(), x,
                       [axis](const PlotPoint& p, double value) { return xOf(p, axis) < value; });
  if (after == points.end()) return points.size() - 1;
  if (after == points.begin()) return 0;
  const auto before = after - 1;
  const bool closer = x - xOf(*before, axis) <= xOf(*after, axis) - x;
  return (closer ? before : after) - points.begin();
}

void PlotSeries::assign(const QVector<PlotPoint>& points) {
  clear();
  append(points);
}

void PlotSeries::append(const QVector<PlotPoint>& points) {
  const qsizetype known = m_points.size();
  m_points.reserve(known + points.size());
  for (const PlotPoint& point : points) {
    if (!std::isfinite(point.step)) continue;
    if (!m_points.isEmpty() && point.step <= m_points.back().step) cutBack(point.step);
    if (!std::isfinite(point.value)) {
      m_gaps << m_points.size();
    } else if (point.value <= 0) {
      ++m_nonPositive;
    }
    m_points << point;
  }
  extendBlocks(m_rawBlocks, {m_points, nullptr, nullptr});
  smoothFrom(m_smoothed.size());
}

void PlotSeries::clear() {
  m_points.clear();
  m_smoothed.clear();
  m_abandoned.clear();
  m_gaps.clear();
  m_rawBlocks.clear();
  m_smoothBlocks.clear();
  m_nonPositive = 0;
}

void PlotSeries::setSmoothing(double weight) {
  m_weight = std::clamp(weight, 0.0, 0.999);
  smoothFrom(0);
}

double PlotSeries::lastFinite() const {
  for (auto point = m_points.rbegin(); point != m_points.rend(); ++point) {
    if (std::isfinite(point->value)) return point->value;
  }
  return kNaN;
}

double PlotSeries::lastFiniteSmoothed() const {
  for (auto value = m_smoothed.rbegin(); value != m_smoothed.rend(); ++value) {
    if (std::isfinite(*value)) return *value;
  }
  return kNaN;
}

void PlotSeries::cutBack(double step) {
  const auto from = std::lower_bound(m_points.begin(), m_points.end(), step,
                                     [](const PlotPoint& p, double s) { return p.step < s; });
  const qsizetype kept = from - m_points.begin();
  QVector<PlotPoint> tail(from, m_points.end());
  for (const PlotPoint& point : tail) {
    if (std::isfinite(point.value) && point.value <= 0) --m_nonPositive;
  }
  m_abandoned << tail;
  m_points.resize(kept);
  m_rawBlocks.resize(std::min(m_rawBlocks.size(), kept / kBlockPoints));
  while (!m_gaps.isEmpty() && m_gaps.back() >= kept)
    m_gaps.removeLast();
  // The smoother has gone past the cut: it starts over.
  if (m_smoothed.size() > kept) m_smoothed.clear();
}

void PlotSeries::smoothFrom(qsizetype first) {
  if (first == 0) {
    m_mean = 0;
    m_decay = 1;
    m_smoothBlocks.clear();
  }
  m_smoothed.resize(m_points.size());
  for (qsizetype i = first; i < m_points.size(); ++i) {
    const double value = m_points[i].value;
    if (!std::isfinite(value)) {
      m_smoothed[i] = kNaN;
      continue;
    }
    // m_n = m_{n-1} + (x - m_{n-1}) (1 - w) / (1 - w^n): the debiased average, exact at a constant.
    const bool started = m_decay < 1;
    m_decay *= m_weight;
    m_mean = started ? m_mean + (value - m_mean) * (1 - m_weight) / (1 - m_decay) : value;
    m_smoothed[i] = m_mean;
  }
  extendBlocks(m_smoothBlocks, {m_points, m_smoothed.constData(), nullptr});
}

}  // namespace athanor
