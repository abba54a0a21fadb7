// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/backend/matrix_product.h"
#include "engine/backend/operations.h"

namespace athanor {

/// Muon's iteration aX + (bA + cA²)X (Jordan et al., 2024) works on Y = c^¼·X: with A = YYᵀ it is
/// aY + (b/√c·A + A²)Y, so that no product is multiplied by anything.
inline constexpr int kMuonIterations = 5;
inline constexpr double kMuonA = 3.4445;
inline constexpr double kMuonB = -4.7750;
inline constexpr double kMuonC = 2.0315;

/// What one update of Muon multiplies with, the same for all elements and on every device.
struct MuonFactors {
  float gradient = 1;
  float momentum = 0;
  double start = 1;  ///< c^¼
  float keep = 1;    ///< 1 − rate · decay
  float rate = 0;    ///< rate · 0.2 · √max(r, c) / c^¼

  /// What u becomes the first Y by.
  constexpr float of_norm(double norm) const {
    constexpr double kEpsilon = 1e-7;
    return static_cast<float>(start / (norm + kEpsilon));
  }
};

inline MuonFactors muon_factors(const Muon& op) {
  constexpr double kAs_adamw = 0.2;
  const double start = std::sqrt(std::sqrt(kMuonC));
  const auto longer = static_cast<double>(std::max(op.x.shape[0], op.x.shape[1]));
  const auto rate = static_cast<double>(op.at.learning_rate);
  return {.gradient = op.at.gradient_scale,
          .momentum = op.at.momentum,
          .start = start,
          .keep = static_cast<float>(1 - rate * op.at.decay),
          .rate = static_cast<float>(rate * kAs_adamw * std::sqrt(longer) / start)};
}

/// Goes on from the first Y in op.x; returns the tensor that holds the last. Calls
/// multiply(product) with each MatrixProduct, one after the other.
template <class Multiply>
Tensor newton_schulz(const Muon& op, const Multiply& multiply) {
  const auto first = static_cast<float>(kMuonA);
  const auto third = static_cast<float>(kMuonB / std::sqrt(kMuonC));
  const bool tall = op.x.shape[0] > op.x.shape[1];
  Tensor y = op.x;
  Tensor next = op.next;
  for (int i = 0; i < kMuonIterations; ++i) {
    multiply(
        MatrixProduct{.a = y, .b = y, .a_transposed = tall, .b_transposed = !tall, .to = op.gram});
    multiply(MatrixProduct{
        .a = op.gram, .b = op.gram, .addend = op.gram, .kept = third, .to = op.polynomial});
    multiply(MatrixProduct{.a = tall ? y : op.polynomial,
                           .b = tall ? op.polynomial : y,
                           .addend = y,
                           .kept = first,
                           .to = next});
    std::swap(y, next);
  }
  return y;
}

}  // namespace athanor
