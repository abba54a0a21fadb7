// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/in_arena.h"

#include <algorithm>

#include "engine/base/philox.h"

namespace athanor {

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
    case DType::u8:
      tensor.as<std::uint8_t>()[index] = static_cast<std::uint8_t>(value);
      break;
    default:
      tensor.as<std::int32_t>()[index] = static_cast<std::int32_t>(value);
  }
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
