// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/arena.h"

namespace athanor {

/// Tensors for tests, made in an arena that the test owns. The same seed and shape give the same
/// numbers in all real types, up to rounding.
Tensor random_tensor(Arena& arena, DType dtype, Shape shape, std::uint64_t seed, double scale = 1,
                     double mean = 0);
Tensor zero_tensor(Arena& arena, DType dtype, Shape shape);
Tensor integer_tensor(Arena& arena, const std::vector<std::int32_t>& values);

/// Element `index` as a double, whatever its type; and the way back, to the nearest, even.
double value_at(const Tensor& tensor, std::int64_t index);
void set_value(const Tensor& tensor, std::int64_t index, double value);
/// The number that a bf16 weight and its lower half stand for; `weights` may also be wider.
double joined_value(const Tensor& weights, const Tensor& low_bits, std::int64_t index);
void fill(const Tensor& tensor, double value);
/// Element for element; the types may differ.
void copy_values(const Tensor& to, const Tensor& from);

}  // namespace athanor
