// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/in_arena.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/philox.h"

namespace athanor {
namespace {

/// By the spacing of numbers with eight bits around `value`, which nearbyint() rounds to evenly.
std::uint16_t bf16_bits(double value) {
  constexpr int kBits = 8;
  constexpr int kLeast_exponent = -126;
  double rounded = value;
  if (std::isfinite(value) && value != 0) {
    const int exponent = std::max(std::ilogb(value), kLeast_exponent) - (kBits - 1);
    rounded = std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
  }
  const auto single = static_cast<float>(rounded);
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(single) >> 16);
}

}  // namespace

Tensor random_tensor(Arena& arena, DType dtype, Shape shape, std::uint64_t seed, double scale,
                     double mean) {
  const Tensor tensor = arena.take(MemoryRole::workspace, dtype, shape);
  const Philox random(seed, 0);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    set_value(tensor, i, mean + scale * random.normal(static_cast<std::uint64_t>(i)));
  }
  return tensor;
}

Tensor zero_tensor(Arena& arena, DType dtype, Shape shape) {
  const Tensor tensor = arena.take(MemoryRole::workspace, dtype, shape);
  fill(tensor, 0);
  return tensor;
}

Tensor integer_tensor(Arena& arena, const std::vector<std::int32_t>& values) {
  const Tensor tensor = arena.take(MemoryRole::workspace, DType::i32,
                                   Shape{static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<std::int32_t>());
  return tensor;
}

double value_at(const Tensor& tensor, std::int64_t index) {
  switch (tensor.dtype) {
    case DType::f32:
      return tensor.as<float>()[index];
    case DType::f64:
      return tensor.as<double>()[index];
    case DType::bf16:
      return std::bit_cast<float>(std::uint32_t{tensor.as<std::uint16_t>()[index]} << 16);
    case DType::u16:
      return tensor.as<std::uint16_t>()[index];
    case DType::u8:
      return tensor.as<std::uint8_t>()[index];
    default:
      return tensor.as<std::int32_t>()[index];
  }
}

void set_value(const Tensor& tensor, std::int64_t index, double value) {
  switch (tensor.dtype) {
    case DType::f32:
      tensor.as<float>()[index] = static_cast<float>(value);
      break;
    case DType::f64:
      tensor.as<double>()[index] = value;
      break;
    case DType::bf16:
      tensor.as<std::uint16_t>()[index] = bf16_bits(value);
      break;
    case DType::u16:
      tensor.as<std::uint16_t>()[index] = static_cast<std::uint16_t>(value);
      break;
    case DType::u8:
      tensor.as<std::uint8_t>()[index] = static_cast<std::uint8_t>(value);
      break;
    default:
      tensor.as<std::int32_t>()[index] = static_cast<std::int32_t>(value);
  }
}

double joined_value(const Tensor& weights, const Tensor& low_bits, std::int64_t index) {
  const auto rounded = std::bit_cast<std::uint32_t>(static_cast<float>(value_at(weights, index)));
  const std::uint32_t low = low_bits.as<std::uint16_t>()[index];
  const std::uint32_t upper = (rounded >> 16) - (low >= 0x8000 ? 1 : 0);
  return std::bit_cast<float>(upper << 16 | low);
}

void fill(const Tensor& tensor, double value) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    set_value(tensor, i, value);
}

void copy_values(const Tensor& to, const Tensor& from) {
  for (std::int64_t i = 0; i < from.elements(); ++i)
    set_value(to, i, value_at(from, i));
}

}  // namespace athanor
