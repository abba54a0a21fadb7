// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/operations.h"

namespace athanor {

/// What roundings within Muon's iteration leave in the weights. They grow on their way by up to
/// 3.4445⁵, where the iteration lifts a small singular value, so that no bound over all matrices is
/// of use. Instead the iteration is made several times in double precision with errors of the size
/// of its roundings, each drawn anew: half the spacing of bf16 numbers at the most, or of f32 what
/// a sum of n terms errs by as a random walk, √n·2⁻²⁴ of the largest element.
struct MuonRoundings {
  double largest = 0;  ///< of any element, in the worst draw
  double norm = 0;     ///< of the whole difference, in the worst draw
};

/// Of an operation whose momentum has moved on; op.x says in what the iteration works.
MuonRoundings muon_roundings(const Muon& op);

/// By how much an element of the weights may differ for them: twice the largest of the draws, since
/// they are few.
double muon_rounding(const Muon& op);

}  // namespace athanor
