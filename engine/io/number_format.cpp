// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/number_format.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "engine/io/super_blocks.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/quantised_blocks.h"

namespace athanor {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie on disk");

template <class Stored>
void widen_each(std::span<const std::byte> stored, std::span<float> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored one;
    std::memcpy(&one, stored.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = widened(one);
  }
}

/// The bit of `element` in four bytes of fifth bits.
unsigned int fifth_bit(const std::byte* bits, std::size_t element) {
  return std::to_integer<unsigned int>(bits[element / 8]) >> (element % 8) & 1U;
}

/// 32 codes of four bits: the low halves of 16 bytes are the first 16, the high halves the others.
unsigned int nibble(const std::byte* codes, std::size_t element) {
  const auto pair = std::to_integer<unsigned int>(codes[element % 16]);
  return element < 16 ? pair & 15U : pair >> 4;
}

constexpr std::size_t kBlock = 32;
constexpr std::size_t kHalf_bytes = 2;
constexpr std::size_t kFifthBits_bytes = 4;

/// q4_1: scale, least, codes. value = scale · code + least
void widen_q4_1(const std::byte* block, float* numbers) {
  const float scale = half_at(block);
  const float least = half_at(block + kHalf_bytes);
  for (std::size_t i = 0; i < kBlock; ++i)
    numbers[i] = scale * static_cast<float>(nibble(block + 2 * kHalf_bytes, i)) + least;
}

/// q5_0: scale, fifth bits, codes. value = scale · (code − 16)
void widen_q5_0(const std::byte* block, float* numbers) {
  const float scale = half_at(block);
  const std::byte* const fifths = block + kHalf_bytes;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const unsigned int code = nibble(fifths + kFifthBits_bytes, i) | fifth_bit(fifths, i) << 4;
    numbers[i] = scale * static_cast<float>(static_cast<int>(code) - 16);
  }
}

/// q5_1: scale, least, fifth bits, codes. value = scale · code + least
void widen_q5_1(const std::byte* block, float* numbers) {
  const float scale = half_at(block);
  const float least = half_at(block + kHalf_bytes);
  const std::byte* const fifths = block + 2 * kHalf_bytes;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const unsigned int code = nibble(fifths + kFifthBits_bytes, i) | fifth_bit(fifths, i) << 4;
    numbers[i] = scale * static_cast<float>(code) + least;
  }
}

using WidenBlock = void (*)(const std::byte* block, float* numbers);

WidenBlock block_reader(NumberFormat format) {
  switch (format) {
    case NumberFormat::q4_1:
      return widen_q4_1;
    case NumberFormat::q5_0:
      return widen_q5_0;
    case NumberFormat::q5_1:
      return widen_q5_1;
    case NumberFormat::q2_k:
      return widen_q2_k;
    case NumberFormat::q3_k:
      return widen_q3_k;
    case NumberFormat::q4_k:
      return widen_q4_k;
    case NumberFormat::q5_k:
      return widen_q5_k;
    default:
      return widen_q6_k;
  }
}

template <class Stored, class Round>
bool narrow_each(std::span<const float> numbers, std::span<std::byte> stored, const Round& round) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Stored one = round(numbers[i]);
    if (!std::isfinite(widened(one))) return false;
    std::memcpy(stored.data() + i * sizeof(Stored), &one, sizeof(Stored));
  }
  return true;
}

}  // namespace

void widen(NumberFormat format, std::span<const std::byte> stored, std::span<float> numbers) {
  assert(static_cast<std::int64_t>(stored.size()) ==
         row_bytes(format, static_cast<std::int64_t>(numbers.size())));
  if (numbers.empty()) return;
  switch (format) {
    case NumberFormat::f32:
      std::memcpy(numbers.data(), stored.data(), stored.size());
      return;
    case NumberFormat::f16:
      return widen_each<F16>(stored, numbers);
    case NumberFormat::bf16:
      return widen_each<Bf16>(stored, numbers);
    case NumberFormat::q4_0:
      return dequantise_row(BlockFormat::q4_0, stored, numbers);
    case NumberFormat::q8_0:
      return dequantise_row(BlockFormat::q8_0, stored, numbers);
    default:
      break;
  }
  const WidenBlock widen_block = block_reader(format);
  const auto block = static_cast<std::size_t>(elements_per_block(format));
  const auto bytes = static_cast<std::size_t>(bytes_per_block(format));
  for (std::size_t i = 0; i < numbers.size() / block; ++i)
    widen_block(stored.data() + i * bytes, numbers.data() + i * block);
}

bool narrow(NumberFormat format, std::span<const float> numbers, std::span<std::byte> stored) {
  assert(static_cast<std::int64_t>(stored.size()) ==
         row_bytes(format, static_cast<std::int64_t>(numbers.size())));
  switch (format) {
    case NumberFormat::f32:
      if (numbers.empty()) return true;
      std::memcpy(stored.data(), numbers.data(), stored.size());
      return std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); });
    case NumberFormat::f16:
      return narrow_each<F16>(numbers, stored, nearest_f16);
    case NumberFormat::bf16:
      return narrow_each<Bf16>(numbers, stored, nearest_bf16);
    case NumberFormat::q4_0:
      return quantise_row(BlockFormat::q4_0, numbers, stored);
    case NumberFormat::q8_0:
      return quantise_row(BlockFormat::q8_0, numbers, stored);
    default:
      assert(false);
      return false;
  }
}

}  // namespace athanor
