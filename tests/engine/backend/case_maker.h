// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "engine/backend/operations.h"
#include "engine/tensor/arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {

/// What weights are kept with between steps.
enum class Keeping { alone, master, low_bits, random };

/// "3x4x5", for the names of cases.
std::string extents(std::initializer_list<std::int64_t> sizes);

/// Makes the tensors of one case: each with numbers of its own, the same in every run.
class CaseMaker {
 public:
  explicit CaseMaker(Arena& arena) : arena_(arena) {}

  Tensor random(Shape shape, double scale = 1, double mean = 0);
  /// Norm weights lie around 1.
  Tensor norm_weight(std::int64_t width) { return random({width}, 0.2, 1); }
  /// Zeroed memory for outputs and scratch.
  Tensor space(Shape shape);
  Tensor positive(Shape shape, double scale);
  /// Weights for AdamW: f64 when alone, else bf16.
  StoredWeights stored_weights(std::int64_t count, double scale, Keeping keeping);
  /// Codes of 8-bit moments, `least` and above.
  Tensor codes(std::int64_t count, std::uint32_t least);

  /// Normal numbers, quantised.
  QuantisedMatrix quantised(BlockFormat format, std::int64_t out, std::int64_t in,
                            double scale = 1);

  /// Some values repeat within a few rows, and the first and the last of the vocabulary occur.
  Tensor tokens(std::int64_t count, std::int64_t vocabulary);
  /// Like tokens, with every `masked_every`-th row masked by -1; 0 masks none.
  Tensor targets(std::int64_t count, std::int64_t vocabulary, std::int64_t masked_every);
  /// `documents` of uneven lengths in each sequence.
  Tensor document_starts(std::int64_t rows, std::int64_t sequence, std::int64_t documents);
  /// Cosines and sines as RoPE with base 10 000 has them.
  Tensor rope_table(std::int64_t positions, std::int64_t head_dim);

  /// For what a backward operation reads of the forward direction.
  ReferenceBackend& reference() { return reference_; }

 private:
  Arena& arena_;
  std::uint64_t seed_ = 1;
  ReferenceBackend reference_;
};

}  // namespace athanor
