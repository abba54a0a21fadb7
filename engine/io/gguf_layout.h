// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/io/number_format.h"

/// What reader and writer of GGUF files agree on.
namespace athanor::gguf {

inline constexpr std::string_view kMagic = "GGUF";
inline constexpr std::uint32_t kVersion = 3;
inline constexpr std::int64_t kUsualAlignment_bytes = 32;
/// A key or name without letters, a type, and a value or offset of the smallest kind.
inline constexpr std::uint64_t kLeastValue_bytes = 8 + 4 + 1;
inline constexpr std::uint64_t kLeastTensor_bytes = 8 + 4 + 4 + 8;

struct TypeNumber {
  NumberFormat format;
  std::uint32_t number;  ///< ggml_type
};
inline constexpr std::array kTypeNumbers = {
    TypeNumber{NumberFormat::f32, 0},   TypeNumber{NumberFormat::f16, 1},
    TypeNumber{NumberFormat::q4_0, 2},  TypeNumber{NumberFormat::q4_1, 3},
    TypeNumber{NumberFormat::q5_0, 6},  TypeNumber{NumberFormat::q5_1, 7},
    TypeNumber{NumberFormat::q8_0, 8},  TypeNumber{NumberFormat::q2_k, 10},
    TypeNumber{NumberFormat::q3_k, 11}, TypeNumber{NumberFormat::q4_k, 12},
    TypeNumber{NumberFormat::q5_k, 13}, TypeNumber{NumberFormat::q6_k, 14},
    TypeNumber{NumberFormat::bf16, 30}};

inline std::optional<NumberFormat> format_of(std::uint32_t number) {
  for (const TypeNumber& known : kTypeNumbers) {
    if (known.number == number) return known.format;
  }
  return {};
}

inline std::uint32_t number_of(NumberFormat format) {
  for (const TypeNumber& known : kTypeNumbers) {
    if (known.format == format) return known.number;
  }
  return 0;
}

inline std::string type_name(std::uint32_t number) {
  const std::optional<NumberFormat> format = format_of(number);
  return format ? std::string(name_of(*format)) : "ggml type " + std::to_string(number);
}

}  // namespace athanor::gguf
