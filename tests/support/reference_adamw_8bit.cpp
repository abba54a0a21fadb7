// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/moment_values.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

std::vector<double> values_above_zero(int parts_of_the_least_decade) {
  std::set<double> values = {1};
  int parts = parts_of_the_least_decade;
  for (int exponent = -6; exponent <= 0; ++exponent, parts *= 2) {
    const double width = 0.9 / parts;
    for (int part = 0; part < parts; ++part) {
      const double low = 0.1 + part * width;
      values.insert((low + low + width) / 2 * std::pow(10.0, exponent));
    }
  }
  return {values.begin(), values.end()};
}

std::vector<double> with_zero_and_mirrored(const std::vector<double>& above, bool mirrored) {
  std::set<double> values(above.begin(), above.end());
  values.insert(0);
  for (const double value : above) {
    if (mirrored && value != 1) values.insert(-value);
  }
  return {values.begin(), values.end()};
}

struct Moment {
  const Tensor& codes;
  const Tensor& scales;
  const std::vector<double>& values;

  double at(std::int64_t i) const {
    return values[codes.as<std::uint8_t>()[i]] * scales.as<double>()[i / kMomentBlock];
  }
  void keep(std::int64_t first, const std::vector<double>& block) const {
    double largest = 1e-30;
    for (const double value : block)
      largest = std::max(largest, std::abs(value));
    scales.as<double>()[first / kMomentBlock] = largest;
    for (std::size_t i = 0; i < block.size(); ++i) {
      int code = nearest_moment_code(values, block[i] / largest);
      const bool vanished = block[i] > 0 && code == 0;
      if (vanished) code = 1;
      codes.as<std::uint8_t>()[first + static_cast<std::int64_t>(i)] =
          static_cast<std::uint8_t>(code);
    }
  }
};

}  // namespace

const std::vector<double>& signed_moment_values() {
  static const std::vector<double> values = with_zero_and_mirrored(values_above_zero(1), true);
  return values;
}

const std::vector<double>& unsigned_moment_values() {
  static const std::vector<double> values = with_zero_and_mirrored(values_above_zero(2), false);
  return values;
}

int nearest_moment_code(const std::vector<double>& values, double share) {
  int nearest = 0;
  for (int code = 1; code < static_cast<int>(values.size()); ++code) {
    const auto distance = [&](int of) {
      return std::abs(values[static_cast<std::size_t>(of)] - share);
    };
    if (distance(code) < distance(nearest)) nearest = code;
  }
  return nearest;
}

void ReferenceBackend::run(const AdamW8& op) {
  const double correction1 = 1 - std::pow(static_cast<double>(op.at.beta1), op.at.step);
  const double correction2 = 1 - std::pow(static_cast<double>(op.at.beta2), op.at.step);
  const double rate = op.at.learning_rate;
  const Moment first{op.m, op.m_scale, signed_moment_values()};
  const Moment second{op.v, op.v_scale, unsigned_moment_values()};
  const std::int64_t elements = op.to.weights.elements();
  for (std::int64_t begin = 0; begin < elements; begin += kMomentBlock) {
    std::vector<double> ms;
    std::vector<double> vs;
    for (std::int64_t i = begin; i < std::min(elements, begin + kMomentBlock); ++i) {
      const double gradient = op.gradients.as<double>()[i] * op.at.gradient_scale;
      ms.push_back(op.at.beta1 * first.at(i) + (1.0 - op.at.beta1) * gradient);
      vs.push_back(op.at.beta2 * second.at(i) + (1.0 - op.at.beta2) * gradient * gradient);
      double weight = stored_number(op.to, i);
      weight -= rate * op.at.decay * weight;
      weight -=
          rate * (ms.back() / correction1) / (std::sqrt(vs.back() / correction2) + op.at.epsilon);
      store_number(op.to, i, weight);
    }
    first.keep(begin, ms);
    second.keep(begin, vs);
  }
}

}  // namespace athanor
