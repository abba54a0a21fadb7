// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/card_tensors.h"

#include <algorithm>
#include <cmath>

#include "engine/base/philox.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace athanor {
namespace {

constexpr std::size_t kStretch = 1 << 18;

const std::vector<float>& normal_numbers() {
  static const std::vector<float> numbers = [] {
    const Philox random(1, 0);
    std::vector<float> made(kStretch);
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = random.normal(i);
    return made;
  }();
  return numbers;
}

template <class Number, class Convert>
std::vector<Number> converted(const Convert& convert) {
  std::vector<Number> numbers(kStretch);
  std::ranges::transform(normal_numbers(), numbers.begin(), convert);
  return numbers;
}

}  // namespace

template <class Number>
Tensor CardTensors::filled(DType type, Shape shape, const std::vector<Number>& stretch) {
  const Tensor tensor = space(type, shape);
  const Tensor flat = tensor.reshaped({tensor.elements()});
  const auto most = static_cast<std::int64_t>(stretch.size());
  for (std::int64_t first = 0; first < flat.elements(); first += most) {
    const std::int64_t count = std::min(most, flat.elements() - first);
    backend_.upload(flat.slice_rows(first, count),
                    std::as_bytes(std::span(stretch).first(static_cast<std::size_t>(count))));
  }
  return tensor;
}

Tensor CardTensors::rows(Shape shape) {
  static const std::vector<Bf16> stretch = converted<Bf16>(nearest_bf16);
  return filled(DType::bf16, shape, stretch);
}

Tensor CardTensors::numbers(Shape shape, float scale) {
  return filled(DType::f32, shape, converted<float>([=](float x) { return scale * x; }));
}

Tensor CardTensors::positive(Shape shape, float scale) {
  return filled(DType::f32, shape,
                converted<float>([=](float x) { return scale * (std::abs(x) + 1e-3F); }));
}

Tensor CardTensors::ids(std::int64_t count, std::int64_t below) {
  const Philox random(2, 0);
  std::vector<std::int32_t> stretch(kStretch);
  for (std::size_t i = 0; i < stretch.size(); ++i)
    stretch[i] = static_cast<std::int32_t>(random.word(i) % static_cast<std::uint64_t>(below));
  return filled(DType::i32, {count}, stretch);
}

Tensor CardTensors::codes(std::int64_t count) {
  const Philox random(3, 0);
  std::vector<std::uint8_t> stretch(kStretch);
  for (std::size_t i = 0; i < stretch.size(); ++i)
    stretch[i] = static_cast<std::uint8_t>(random.word(i) >> 24);
  return filled(DType::u8, {count}, stretch);
}

QuantisedMatrix CardTensors::quantised(BlockFormat format, std::int64_t out, std::int64_t in) {
  const std::int64_t blocks = in / kBlock_elements;
  const std::int64_t width = blocks * block_code_bytes(format);
  const auto scale = [](float x) { return nearest_f16(0.01F * (std::abs(x) + 1e-3F)).bits; };
  return {.format = format,
          .codes = codes(out * width).reshaped({out, width}),
          .scales = filled(DType::u16, {out, blocks}, converted<std::uint16_t>(scale))};
}

Tensor CardTensors::starts(std::int64_t count) {
  return space(DType::i32, {count});
}

Tensor CardTensors::space(DType type, Shape shape) {
  const Tensor tensor = arena_.take(MemoryRole::workspace, type, shape);
  backend_.zero(tensor);
  return tensor;
}

Fp8 CardTensors::fp8(const Tensor& x, bool transposed) {
  const Tensor peak = space(DType::f32, {1});
  const Shape shape = transposed ? Shape{x.shape[1], x.shape[0]} : x.shape;
  const Fp8 made{.codes = space(DType::u8, shape), .scale = space(DType::f32, {1})};
  backend_.zero(peak);
  backend_.run(Peak{.x = x, .peak = peak});
  backend_.run(Quantise{.x = x,
                        .peak = peak,
                        .codes = transposed ? Tensor() : made.codes,
                        .transposed = transposed ? made.codes : Tensor(),
                        .scale = made.scale});
  return made;
}

}  // namespace athanor
