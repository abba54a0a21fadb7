// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/optimizer_cases.h"

#include <algorithm>

#include "tests/engine/backend/case_maker.h"

namespace athanor {
namespace {

std::string text_of(Keeping keeping) {
  switch (keeping) {
    case Keeping::alone:
      return "";
    case Keeping::master:
      return ", master";
    case Keeping::low_bits:
      return ", low bits";
    case Keeping::random:
      break;
  }
  return ", rounded at random";
}

constexpr Keeping kKeepings[] = {Keeping::alone, Keeping::master, Keeping::low_bits,
                                 Keeping::random};

constexpr WeightRounding kRounding{.seed = 0x123456789ABCULL, .stream = 0x700000002ULL};

void add_adamw(std::vector<OperationCase>& cases, std::int64_t size, std::int64_t step, float decay,
               float gradient_scale, Keeping keeping = Keeping::alone) {
  cases.push_back(
      {"adamw, " + std::to_string(size) + " at step " + std::to_string(step) + text_of(keeping),
       Operation::adamw, 0, 1, [=](Arena& arena) -> AnyOperation {
         CaseMaker maker(arena);
         // At step 1 the moments are still zero.
         const double before = step > 1 ? 1 : 0;
         return AdamW{.to = maker.stored_weights(size, 0.01, keeping),
                      .gradients = maker.random({size}, 0.1),
                      .m = maker.random({size}, 0.1 * before),
                      .v = maker.positive({size}, 0.01 * before),
                      .at = {.learning_rate = 0.01F,
                             .decay = decay,
                             .gradient_scale = gradient_scale,
                             .step = step,
                             .rounding = kRounding}};
       }});
}

/// Moments of about the size that gradients of `gradient` leave, none before step 2.
void add_adamw_8bit(std::vector<OperationCase>& cases, std::int64_t size, std::int64_t step,
                    double gradient, double before, Keeping keeping = Keeping::alone) {
  const std::string text = std::to_string(size) + " at step " + std::to_string(step) +
                           (before == 0 ? ", no moments" : "") +
                           (gradient == 0 ? ", no gradients" : (gradient < 1e-9 ? ", tiny" : "")) +
                           (gradient > 1e9 ? ", large" : "") + text_of(keeping);
  cases.push_back(
      {"adamw 8-bit, " + text, Operation::adamw_8bit, 0, 1, [=](Arena& arena) -> AnyOperation {
         CaseMaker maker(arena);
         const Shape blocks{moment_blocks(size)};
         return AdamW8{
             .to = maker.stored_weights(size, 0.01, keeping),
             .gradients = maker.random({size}, gradient),
             .m = maker.codes(size, 0),
             // The least code that is kept beside an m.
             .v = maker.codes(size, 1),
             .m_scale = maker.positive(blocks, before),
             .v_scale = maker.positive(blocks, before * before),
             .at = {.learning_rate = 0.01F, .decay = 0.1F, .gradient_scale = 0.5F, .step = step}};
       }});
}

/// Of step 1, without momentum, when `first`.
void add_muon(std::vector<OperationCase>& cases, std::int64_t rows, std::int64_t columns,
              double gradient, bool first = false, Keeping keeping = Keeping::alone) {
  const std::string text = extents({rows, columns}) + (first ? ", no momentum" : "") +
                           (gradient == 0 ? ", no gradients" : "") + text_of(keeping);
  cases.push_back({"muon, " + text, Operation::muon, 0, 1, [=](Arena& arena) -> AnyOperation {
                     CaseMaker maker(arena);
                     const Shape shape{rows, columns};
                     const std::int64_t side = std::min(rows, columns);
                     return Muon{.to = maker.stored_weights(rows * columns, 0.01, keeping),
                                 .gradients = maker.random(shape, gradient),
                                 .momentum = maker.random(shape, first ? 0 : 0.3),
                                 .x = maker.space(shape),
                                 .next = maker.space(shape),
                                 .gram = maker.space({side, side}),
                                 .polynomial = maker.space({side, side}),
                                 .at = {.learning_rate = 0.01F,
                                        .momentum = 0.95F,
                                        .decay = 0.1F,
                                        .gradient_scale = 0.25F,
                                        .rounding = kRounding}};
                   }});
}

}  // namespace

void add_optimizer_cases(std::vector<OperationCase>& cases) {
  for (const std::int64_t size : {1, 17, 1000, 20011}) {
    for (const Keeping keeping : kKeepings) {
      add_adamw(cases, size, 1, 0, 1, keeping);
      add_adamw(cases, size, 5000, 0.1F, 0.25F, keeping);
    }
  }
  for (const std::int64_t size : {1, 255, 256, 257, 5000, 40000}) {
    add_adamw_8bit(cases, size, 1, 0.1, 0);
    for (const Keeping keeping : kKeepings)
      add_adamw_8bit(cases, size, 5000, 0.1, 0.1, keeping);
  }
  add_adamw_8bit(cases, 300, 1, 0, 0);
  add_adamw_8bit(cases, 300, 7, 0, 0.1);
  add_adamw_8bit(cases, 300, 7, 1e-30, 1e-30);
  add_adamw_8bit(cases, 300, 7, 1e15, 1e15);
  add_muon(cases, 1, 1, 0.1);
  add_muon(cases, 1, 7, 0.1);
  add_muon(cases, 5, 3, 0.1);
  add_muon(cases, 16, 16, 0.1, true);
  add_muon(cases, 24, 8, 0, true);
  add_muon(cases, 100, 33, 0.1);
  for (const Keeping keeping : kKeepings)
    add_muon(cases, 20, 67, 0.1, false, keeping);
}

void add_optimizer_benchmarks(std::vector<OperationCase>& cases) {
  add_adamw(cases, std::int64_t{1} << 22, 100, 0.1F, 1);
  add_adamw_8bit(cases, std::int64_t{1} << 22, 100, 0.1, 0.1);
  add_muon(cases, 384, 384, 0.1);
  add_muon(cases, 2048, 384, 0.1);
}

}  // namespace athanor
