// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/reference_muon.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

Matrix transposed(const Matrix& of) {
  Matrix turned{of.columns, of.rows, std::vector<double>(of.numbers.size())};
  for (std::int64_t row = 0; row < of.rows; ++row) {
    for (std::int64_t column = 0; column < of.columns; ++column)
      turned.at(column, row) = of.at(row, column);
  }
  return turned;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix sums{a.rows, b.columns, std::vector<double>(static_cast<std::size_t>(a.rows * b.columns))};
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      for (std::int64_t column = 0; column < b.columns; ++column)
        sums.at(row, column) += a.at(row, k) * b.at(k, column);
    }
  }
  return sums;
}

Matrix sum(double p, const Matrix& a, double q, const Matrix& b) {
  Matrix sum = a;
  for (std::size_t i = 0; i < sum.numbers.size(); ++i)
    sum.numbers[i] = p * a.numbers[i] + q * b.numbers[i];
  return sum;
}

/// One of Jacobi's rotations: makes element (p, q) of a symmetric matrix 0.
void rotate(Matrix& of, std::int64_t p, std::int64_t q) {
  if (of.at(p, q) == 0) return;
  const double angle = std::atan2(2 * of.at(p, q), of.at(q, q) - of.at(p, p)) / 2;
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  for (std::int64_t k = 0; k < of.rows; ++k) {
    const double first = of.at(k, p);
    const double second = of.at(k, q);
    of.at(k, p) = c * first - s * second;
    of.at(k, q) = s * first + c * second;
  }
  for (std::int64_t k = 0; k < of.rows; ++k) {
    const double first = of.at(p, k);
    const double second = of.at(q, k);
    of.at(p, k) = c * first - s * second;
    of.at(q, k) = s * first + c * second;
  }
}

}  // namespace

double Matrix::norm() const {
  double squares = 0;
  for (const double number : numbers)
    squares += number * number;
  return std::sqrt(squares);
}

double Matrix::largest() const {
  double largest = 0;
  for (const double number : numbers)
    largest = std::max(largest, std::abs(number));
  return largest;
}

Matrix muon_direction(const Muon& op, const Rounding& round) {
  Matrix u{op.x.shape[0], op.x.shape[1], {}};
  for (std::int64_t i = 0; i < op.x.elements(); ++i) {
    const double g = value_at(op.gradients, i) * op.at.gradient_scale;
    u.numbers.push_back(g + op.at.momentum * value_at(op.momentum, i));
  }
  const bool tall = u.rows > u.columns;
  Matrix x = tall ? transposed(u) : u;
  const double norm = x.norm();
  for (double& number : x.numbers)
    number /= norm + 1e-7;
  round(x, 1);
  for (int iteration = 0; iteration < 5; ++iteration) {
    Matrix a = product(x, transposed(x));
    round(a, x.columns);
    Matrix b = sum(-4.7750, a, 2.0315, product(a, a));
    round(b, x.rows);
    x = sum(3.4445, x, 1, product(b, x));
    round(x, x.rows);
  }
  return tall ? transposed(x) : x;
}

double muon_step_length(const Muon& op) {
  const auto longer = static_cast<double>(std::max(op.x.shape[0], op.x.shape[1]));
  return op.at.learning_rate * 0.2 * std::sqrt(longer);
}

std::vector<double> singular_values(const Matrix& of) {
  const Matrix turned = transposed(of);
  Matrix gram = of.rows < of.columns ? product(of, turned) : product(turned, of);
  constexpr int kSweeps = 12;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::int64_t p = 0; p < gram.rows; ++p) {
      for (std::int64_t q = p + 1; q < gram.rows; ++q)
        rotate(gram, p, q);
    }
  }
  std::vector<double> values;
  for (std::int64_t i = 0; i < gram.rows; ++i)
    values.push_back(std::sqrt(std::max(0.0, gram.at(i, i))));
  std::sort(values.rbegin(), values.rend());
  return values;
}

void ReferenceBackend::run(const Muon& op) {
  for (std::int64_t i = 0; i < op.x.elements(); ++i) {
    double& momentum = op.momentum.as<double>()[i];
    momentum = op.at.momentum * momentum + op.gradients.as<double>()[i] * op.at.gradient_scale;
  }
  const Matrix x = muon_direction(op);
  for (std::int64_t i = 0; i < op.x.elements(); ++i) {
    double weight = stored_number(op.to, i);
    weight -= static_cast<double>(op.at.learning_rate) * op.at.decay * weight;
    weight -= muon_step_length(op) * x.numbers[static_cast<std::size_t>(i)];
    store_number(op.to, i, weight);
  }
}

}  // namespace athanor
