// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/super_blocks.h"

#include <cstdint>

namespace athanor {

namespace {

constexpr std::size_t kElements = 256;

unsigned int byte_at(const std::byte* place, std::size_t index) {
  return std::to_integer<unsigned int>(place[index]);
}

/// The two bits of an element among 64 bytes of them: each 128 elements take 32 bytes, whose two
/// lowest bits are the first 32 elements', and so on.
unsigned int two_bits(const std::byte* bits, std::size_t element) {
  const std::size_t half = element / 128;
  const std::size_t quarter = element % 128 / 32;
  return byte_at(bits, 32 * half + element % 32) >> (2 * quarter) & 3U;
}

/// The four bits of an element among 128 bytes of them: each 64 elements take 32 bytes, the low
/// halves first.
unsigned int four_bits(const std::byte* bits, std::size_t element) {
  const unsigned int pair = byte_at(bits, element / 64 * 32 + element % 32);
  return element % 64 < 32 ? pair & 15U : pair >> 4;
}

/// Scale and offset of 32 numbers, six bits each.
struct SixBitPair {
  float scale;
  float offset;
};

/// Eight pairs in twelve bytes: the first four whole, with the upper two bits of the others above.
SixBitPair six_bit_pair(const std::byte* packed, std::size_t index) {
  unsigned int scale = 0;
  unsigned int offset = 0;
  if (index < 4) {
    scale = byte_at(packed, index) & 63U;
    offset = byte_at(packed, index + 4) & 63U;
  } else {
    const unsigned int low = byte_at(packed, index + 4);
    scale = (low & 15U) | byte_at(packed, index - 4) >> 6 << 4;
    offset = low >> 4 | byte_at(packed, index) >> 6 << 4;
  }
  return {static_cast<float>(scale), static_cast<float>(offset)};
}

/// Sixteen scales of six bits in twelve bytes: eight bytes of low halves, four of upper bits.
float six_bit_scale(const std::byte* packed, std::size_t index) {
  const unsigned int pair = byte_at(packed, index % 8);
  const unsigned int low = index < 8 ? pair & 15U : pair >> 4;
  const unsigned int high = byte_at(packed, 8 + index % 4) >> (2 * (index / 4)) & 3U;
  return static_cast<float>(static_cast<int>(low | high << 4) - 32);
}

}  // namespace

/// scales[16], codes[64], scale, offset. value = scale · s · code − offset · o
void widen_q2_k(const std::byte* block, float* numbers) {
  const std::byte* const codes = block + 16;
  const float scale = half_at(codes + 64);
  const float offset = half_at(codes + 66);
  for (std::size_t i = 0; i < kElements; ++i) {
    const unsigned int pair = byte_at(block, i / 16);
    const float step = scale * static_cast<float>(pair & 15U);
    const float least = offset * static_cast<float>(pair >> 4);
    numbers[i] = step * static_cast<float>(two_bits(codes, i)) - least;
  }
}

/// third bits[32], codes[64], scales[12], scale. value = scale · s · (code − 4)
void widen_q3_k(const std::byte* block, float* numbers) {
  const std::byte* const codes = block + 32;
  const std::byte* const scales = codes + 64;
  const float scale = half_at(scales + 12);
  for (std::size_t i = 0; i < kElements; ++i) {
    const unsigned int third = byte_at(block, i % 32) >> (i / 32) & 1U;
    const int code = static_cast<int>(two_bits(codes, i) | third << 2) - 4;
    numbers[i] = scale * six_bit_scale(scales, i / 16) * static_cast<float>(code);
  }
}

/// scale, offset, pairs[12], codes[128]. value = scale · s · code − offset · o
void widen_q4_k(const std::byte* block, float* numbers) {
  const float scale = half_at(block);
  const float offset = half_at(block + 2);
  for (std::size_t i = 0; i < kElements; ++i) {
    const SixBitPair pair = six_bit_pair(block + 4, i / 32);
    numbers[i] =
        scale * pair.scale * static_cast<float>(four_bits(block + 16, i)) - offset * pair.offset;
  }
}

/// scale, offset, pairs[12], fifth bits[32], codes[128]. value = scale · s · code − offset · o
void widen_q5_k(const std::byte* block, float* numbers) {
  const float scale = half_at(block);
  const float offset = half_at(block + 2);
  const std::byte* const fifths = block + 16;
  for (std::size_t i = 0; i < kElements; ++i) {
    const SixBitPair pair = six_bit_pair(block + 4, i / 32);
    const unsigned int fifth = byte_at(fifths, i % 32) >> (i / 32) & 1U;
    const unsigned int code = four_bits(fifths + 32, i) | fifth << 4;
    numbers[i] = scale * pair.scale * static_cast<float>(code) - offset * pair.offset;
  }
}

/// low four bits[128], upper two bits[64], scales[16], scale. value = scale · s · (code − 32)
void widen_q6_k(const std::byte* block, float* numbers) {
  const std::byte* const uppers = block + 128;
  const std::byte* const scales = uppers + 64;
  const float scale = half_at(scales + 16);
  for (std::size_t i = 0; i < kElements; ++i) {
    // Each 128 elements take 64 bytes, the low halves of all of them first.
    const std::size_t within = i % 128;
    const unsigned int pair = byte_at(block, i / 128 * 64 + within % 64);
    const unsigned int low = within < 64 ? pair & 15U : pair >> 4;
    const int code = static_cast<int>(low | two_bits(uppers, i) << 4) - 32;
    const auto step = static_cast<std::int8_t>(byte_at(scales, i / 16));
    numbers[i] = scale * static_cast<float>(step) * static_cast<float>(code);
  }
}

}  // namespace athanor
