// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/peaks.h"
#include "engine/backend/cuda/rows.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 256;
/// Blocks that keep a large card busy with reading.
constexpr unsigned kMost_peak_blocks = 1024;

template <bool kWhole>
__global__ void __launch_bounds__(kThreads)
    peak_kernel(const Bf16* x, std::int64_t elements, float* peak) {
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads * kEight;
  std::uint32_t bits = 0;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kEight; i < elements;
       i += stride)
    bits = max(bits, magnitude_bits(load_eight<kWhole>(x + i, elements - i)));
  ATHANOR_SHARED(std::uint32_t, of_warps, [kWarp]);
  raise_peak_by_block(peak, bits, of_warps);
}

/// A scale and what divides by it.
struct Scale {
  float scale;
  float inverse;
};

__device__ __forceinline__ Scale scale_of(float peak) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  constexpr int kFraction_bits = 23;
  // 448 = 1.75 · 2⁸
  constexpr int kExponent = 8;
  constexpr std::uint32_t kFraction = 0x600000;
  constexpr int kBiases = 2 * 127;
  const std::uint32_t bits = magnitude_bits(peak);
  if (bits >= kInfinity) return {__uint_as_float(0x7FC00000), __uint_as_float(0x7FC00000)};
  const int above = (bits & ((1U << kFraction_bits) - 1)) > kFraction ? 1 : 0;
  const int exponent = max(1, static_cast<int>(bits >> kFraction_bits) - kExponent + above);
  return {__uint_as_float(static_cast<std::uint32_t>(exponent) << kFraction_bits),
          __uint_as_float(static_cast<std::uint32_t>(kBiases - exponent) << kFraction_bits)};
}

struct QuantiseArguments {
  const Bf16* x;
  const float* peak;
  std::uint8_t* codes;  ///< null where not wanted, like the next
  std::uint8_t* transposed;
  float* scale;
  std::int64_t rows;
  std::int64_t columns;
};

/// Rows and columns of x that a block takes.
constexpr int kTile = 64;
constexpr int kEights_a_row = kTile / kEight;
constexpr int kRows_a_sweep = kThreads / kEights_a_row;
/// Codes that are written at a time where rows become columns.
constexpr int kFour = 4;

struct EightCodes {
  std::uint8_t at[kEight];
};

template <bool kWhole>
__device__ __forceinline__ void store_codes(const EightCodes& codes, std::uint8_t* to,
                                            std::int64_t left) {
  if constexpr (kWhole) {
    std::uint32_t words[2] = {};
    for (int j = 0; j < kEight; ++j)
      words[j / kFour] |= std::uint32_t{codes.at[j]} << (8 * (j % kFour));
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  } else {
    for (int j = 0; j < kEight; ++j)
      if (j < left) to[j] = codes.at[j];
  }
}

/// With `kWhole` rows are whole eights, and columns whole fours.
template <bool kWhole>
__global__ void __launch_bounds__(kThreads) quantise_kernel(QuantiseArguments to) {
  // By columns; a word more, so that they begin in different banks.
  ATHANOR_SHARED(std::uint8_t, tile, [kTile][kTile + kFour]);
  const std::int64_t across = (to.columns + kTile - 1) / kTile;
  const std::int64_t first_row = blockIdx.x / across * kTile;
  const std::int64_t first_column = blockIdx.x % across * kTile;
  const Scale by = scale_of(*to.peak);
  if (blockIdx.x == 0 && threadIdx.x == 0) *to.scale = by.scale;
  const int in_columns = static_cast<int>(threadIdx.x) % kEights_a_row * kEight;
  const std::int64_t column = first_column + in_columns;
#pragma unroll
  for (int sweep = 0; sweep < kTile / kRows_a_sweep; ++sweep) {
    const int in_rows = sweep * kRows_a_sweep + static_cast<int>(threadIdx.x) / kEights_a_row;
    const std::int64_t row = first_row + in_rows;
    if (row >= to.rows || column >= to.columns) continue;
    const std::int64_t place = row * to.columns + column;
    const Eight x = load_eight<kWhole>(to.x + place, to.columns - column);
    EightCodes codes;
    for (int j = 0; j < kEight; ++j)
      codes.at[j] = to_e4m3(x.at[j] * by.inverse);
    if (to.codes != nullptr) store_codes<kWhole>(codes, to.codes + place, to.columns - column);
    for (int j = 0; j < kEight; ++j)
      tile[in_columns + j][in_rows] = codes.at[j];
  }
  if (to.transposed == nullptr) return;
  __syncthreads();
  for (int item = static_cast<int>(threadIdx.x); item < kTile * kTile / kFour; item += kThreads) {
    const int in_column = item / (kTile / kFour);
    const int in_row = item % (kTile / kFour) * kFour;
    const std::int64_t row = first_row + in_row;
    if (first_column + in_column >= to.columns || row >= to.rows) continue;
    std::uint8_t* four = to.transposed + (first_column + in_column) * to.rows + row;
    const std::uint8_t* from = &tile[in_column][in_row];
    if constexpr (kWhole) {
      *reinterpret_cast<std::uint32_t*>(four) = *reinterpret_cast<const std::uint32_t*>(from);
    } else {
      for (int j = 0; j < kFour; ++j)
        if (row + j < to.rows) four[j] = from[j];
    }
  }
}

}  // namespace

void peak(Stream stream, const Peak& op) {
  const std::int64_t elements = op.x.elements();
  const unsigned blocks = std::min(kMost_peak_blocks, blocks_for(elements, kThreads * kEight));
  with_flag(in_eights(elements), [&](auto whole) {
    launch(peak_kernel<whole>, {blocks, kThreads}, stream, op.x.as<Bf16>(), elements,
           op.peak.as<float>());
  });
}

void quantise(Stream stream, const Quantise& op) {
  const std::int64_t rows = op.x.rows();
  const std::int64_t columns = op.x.row_elements();
  const auto codes_of = [](const Tensor& tensor) {
    return tensor.present() ? tensor.as<std::uint8_t>() : nullptr;
  };
  const QuantiseArguments arguments{.x = op.x.as<Bf16>(),
                                    .peak = op.peak.as<float>(),
                                    .codes = codes_of(op.codes),
                                    .transposed = codes_of(op.transposed),
                                    .scale = op.scale.as<float>(),
                                    .rows = rows,
                                    .columns = columns};
  const unsigned blocks = blocks_for(rows, kTile) * blocks_for(columns, kTile);
  with_flag(in_eights(columns) && rows % kFour == 0, [&](auto whole) {
    launch(quantise_kernel<whole>, {blocks, kThreads}, stream, arguments);
  });
}

}  // namespace athanor::cuda
