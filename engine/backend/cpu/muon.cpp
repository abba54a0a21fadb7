// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <cassert>
#include <cmath>

#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"
#include "engine/backend/newton_schulz.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/muon.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/stored_weights-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// Elements that are floats for a moment, where weights or gradients are not: they stay in the
/// first cache.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kTaskElements = 16 * kBlock;

/// Calls body(first, count) for the blocks of elements [first, end).
template <class Body>
void for_blocks(std::int64_t first, std::int64_t end, const Body& body) {
  for (; first < end; first += kBlock)
    body(first, std::min(kBlock, end - first));
}

template <class Body>
void for_blocks_of_tasks(Context& context, std::int64_t elements, const Body& body) {
  context.pool().parallel_for(
      (elements + kTaskElements - 1) / kTaskElements, [&](std::int64_t task) {
        for_blocks(task * kTaskElements, std::min(elements, (task + 1) * kTaskElements), body);
      });
}

/// Moves the momentum of a block on; returns Σu².
double step_momentum(const Muon& op, const MuonFactors& f, std::int64_t first, std::int64_t count) {
  HWY_ALIGN float widened[kBlock];
  const float* gradients = floats_of(Reals(op.gradients).from(first), count, widened);
  float* momentum = op.momentum.as<float>() + first;
  FloatVector squares = set(0);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    const FloatVector g = hn::Mul(load_up_to(gradients + i, left), set(f.gradient));
    const FloatVector m = hn::MulAdd(set(f.momentum), load_up_to(momentum + i, left), g);
    const FloatVector u = hn::MulAdd(set(f.momentum), m, g);
    store_up_to(m, momentum + i, left);
    squares = hn::MulAdd(u, u, squares);
  }
  return static_cast<double>(sum_lanes(squares));
}

/// y = factor · u
void begin_block(const Muon& op, const MuonFactors& f, float factor, std::int64_t first,
                 std::int64_t count) {
  HWY_ALIGN float widened[kBlock];
  const float* gradients = floats_of(Reals(op.gradients).from(first), count, widened);
  const float* momentum = op.momentum.as<float>() + first;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    const FloatVector g = hn::Mul(load_up_to(gradients + i, left), set(f.gradient));
    const FloatVector u = hn::MulAdd(set(f.momentum), load_up_to(momentum + i, left), g);
    store_up_to(hn::Mul(u, set(factor)), op.x.as<float>() + first + i, left);
  }
}

void update_block(const Muon& op, const MuonFactors& f, const float* y, std::int64_t first,
                  std::int64_t count) {
  HWY_ALIGN float widened[kBlock];
  float* weights = numbers_of(op.to, first, count, widened);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    const FloatVector decayed = hn::Mul(load_up_to(weights + i, left), set(f.keep));
    const FloatVector step = hn::Mul(load_up_to(y + first + i, left), set(f.rate));
    store_up_to(hn::Sub(decayed, step), weights + i, left);
  }
  keep_numbers(op.to, op.at.rounding, first, count, weights);
}

}  // namespace

void muon_begin_for_target(Context& context, const Muon& op) {
  const MuonFactors factors = muon_factors(op);
  const std::int64_t count = op.x.elements();
  std::array<double, kReductionParts> parts{};
  context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
    double& sum = parts[static_cast<std::size_t>(part)];
    for_blocks(part * count / kReductionParts, (part + 1) * count / kReductionParts,
               [&](std::int64_t first, std::int64_t elements) {
                 sum += step_momentum(op, factors, first, elements);
               });
  });
  double squares = 0;
  for (const double part : parts)
    squares += part;
  const float factor = factors.of_norm(std::sqrt(squares));
  for_blocks_of_tasks(context, count, [&](std::int64_t first, std::int64_t elements) {
    begin_block(op, factors, factor, first, elements);
  });
}

void muon_update_for_target(Context& context, const Muon& op, const Tensor& y) {
  const MuonFactors factors = muon_factors(op);
  for_blocks_of_tasks(context, y.elements(), [&](std::int64_t first, std::int64_t elements) {
    update_block(op, factors, y.as<float>(), first, elements);
  });
}

/// to = factor · from
void scale_for_target(Context& context, const Tensor& from, float factor, const Tensor& to) {
  const float* read = from.as<float>();
  float* written = to.as<float>();
  for_blocks_of_tasks(context, to.elements(), [&](std::int64_t first, std::int64_t elements) {
    for (std::int64_t i = first; i < first + elements; i += kLanes) {
      const std::int64_t left = first + elements - i;
      store_up_to(hn::Mul(load_up_to(read + i, left), set(factor)), written + i, left);
    }
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(muon_begin_for_target);
HWY_EXPORT(muon_update_for_target);
HWY_EXPORT(scale_for_target);

namespace {

void multiply_and_add(Context& context, const MatrixProduct& op) {
  assert(op.factor == 1);
  const bool adds = op.addend.present();
  if (adds) HWY_DYNAMIC_DISPATCH(scale_for_target)(context, op.addend, op.kept, op.to);
  multiply(context, {.rows = op.to.shape[0],
                     .columns = op.to.shape[1],
                     .depth = op.depth(),
                     .a = {op.a, op.a.shape[1], op.a_transposed},
                     .b = {op.b, op.b.shape[1], op.b_transposed},
                     .c = op.to,
                     .c_stride = op.to.shape[1],
                     .bias = {},
                     .accumulate = adds});
}

}  // namespace

void muon(Context& context, const Muon& op) {
  HWY_DYNAMIC_DISPATCH(muon_begin_for_target)(context, op);
  const Tensor y =
      newton_schulz(op, [&](const MatrixProduct& product) { multiply_and_add(context, product); });
  HWY_DYNAMIC_DISPATCH(muon_update_for_target)(context, op, y);
}

}  // namespace athanor::cpu
#endif
