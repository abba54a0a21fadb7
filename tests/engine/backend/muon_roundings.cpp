// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/muon_roundings.h"

#include <algorithm>
#include <cmath>

#include "engine/base/philox.h"
#include "tests/support/reference_muon.h"

namespace athanor {
namespace {

/// Adds errors in both directions, evenly spread up to the largest that there may be.
class Draw {
 public:
  Draw(std::uint64_t number, DType type) : random_(number, 0), type_(type) {}

  void operator()(Matrix& matrix, std::int64_t terms) {
    const double walk = std::sqrt(static_cast<double>(terms)) * 0x1p-24 * matrix.largest();
    for (double& number : matrix.numbers) {
      const double rounding = number == 0 ? 0 : std::ldexp(1.0, std::ilogb(number) - 8);
      const double most = type_ == DType::bf16 ? rounding : walk;
      number += most * (random_.word(drawn_++) * 0x1p-31 - 1);
    }
  }

 private:
  Philox random_;
  DType type_;
  std::uint64_t drawn_ = 0;
};

}  // namespace

MuonRoundings muon_roundings(const Muon& op) {
  constexpr std::uint64_t kDraws = 4;
  // In double precision nothing is rounded.
  if (op.x.dtype == DType::f64) return {};
  const Matrix exact = muon_direction(op);
  MuonRoundings worst;
  for (std::uint64_t number = 0; number < kDraws; ++number) {
    Matrix error = muon_direction(op, Draw(number, op.x.dtype));
    for (std::size_t i = 0; i < error.numbers.size(); ++i)
      error.numbers[i] -= exact.numbers[i];
    worst.largest = std::max(worst.largest, muon_step_length(op) * error.largest());
    worst.norm = std::max(worst.norm, muon_step_length(op) * error.norm());
  }
  return worst;
}

double muon_rounding(const Muon& op) {
  return 2 * muon_roundings(op).largest;
}

}  // namespace athanor
