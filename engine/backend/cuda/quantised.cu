// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/rows.h"

/// Quantised weights. A few rows are multiplied with the codes as they are read, 16 bytes a lane,
/// with x in bf16 and sums in FP32: memory bounds that, so that rounding x to whole numbers would
/// gain nothing. For more rows the weights are widened once and go to the tensor cores.
namespace athanor::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
/// Outputs of a warp: as many loads are on their way at once.
constexpr int kColumns = 2;

/// What 16 bytes of codes hold.
template <BlockFormat kFormat>
struct Chunk {
  static constexpr int kElements = kFormat == BlockFormat::q8_0 ? 16 : 32;
  static constexpr int kEights = kElements / kEight;
  static constexpr int kPer_block = static_cast<int>(kBlock_elements) / kElements;

  std::uint32_t words[4];

  __device__ __forceinline__ explicit Chunk(const uint4* from) {
    const uint4 packed = *from;
    words[0] = packed.x;
    words[1] = packed.y;
    words[2] = packed.z;
    words[3] = packed.w;
  }

  /// Eight neighbouring elements, without their scale.
  __device__ __forceinline__ Eight codes(int eight) const {
    Eight values;
#pragma unroll
    for (int i = 0; i < kEight; ++i) {
      if constexpr (kFormat == BlockFormat::q8_0) {
        const std::uint32_t word = words[2 * eight + i / 4];
        values.at[i] = static_cast<float>(static_cast<std::int8_t>(word >> (8 * (i % 4))));
      } else {
        // Bytes 8·(eight % 2)…: their low halves first, the high ones 16 elements later.
        const std::uint32_t word = words[2 * (eight % 2) + i / 4];
        const std::uint32_t code = word >> (8 * (i % 4) + 4 * (eight / 2)) & 15U;
        values.at[i] = static_cast<float>(static_cast<int>(code) - 8);
      }
    }
    return values;
  }
};

struct MatrixView {
  const uint4* codes;
  const F16* scales;
  std::int64_t rows;
  std::int64_t width;
};

MatrixView view_of(const QuantisedMatrix& matrix) {
  return {reinterpret_cast<const uint4*>(matrix.codes.data), matrix.scales.as<F16>(), matrix.rows(),
          matrix.row_elements()};
}

/// kRows or fewer rows of x with the columns of a warp.
template <BlockFormat kFormat, int kRows, class Y>
__global__ void __launch_bounds__(kThreads)
    quantised_rows_kernel(MatrixView weight, const Bf16* x, const Bf16* bias, Y* y, int rows) {
  using Codes = Chunk<kFormat>;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp) * kColumns;
  if (first >= weight.rows) return;
  const std::int64_t chunks = weight.width / Codes::kElements;
  std::int64_t columns[kColumns];
#pragma unroll
  for (int c = 0; c < kColumns; ++c)
    columns[c] = min(first + c, weight.rows - 1);
  float sums[kColumns][kRows] = {};
  for (std::int64_t at = lane; at < chunks; at += kWarp) {
    const Codes codes[kColumns] = {Codes(weight.codes + columns[0] * chunks + at),
                                   Codes(weight.codes + columns[1] * chunks + at)};
    float parts[kColumns][kRows] = {};
#pragma unroll
    for (int eight = 0; eight < Codes::kEights; ++eight) {
      Eight weights[kColumns];
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        weights[c] = codes[c].codes(eight);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::int64_t row = min(r, rows - 1);
        const Eight values = load_eight<true>(
            x + row * weight.width + at * Codes::kElements + eight * kEight, kEight);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
#pragma unroll
          for (int i = 0; i < kEight; ++i)
            parts[c][r] = fmaf(weights[c].at[i], values.at[i], parts[c][r]);
        }
      }
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const std::int64_t block = (columns[c] * chunks + at) / Codes::kPer_block;
      const float scale = to_float(weight.scales[block]);
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        sums[c][r] = fmaf(scale, parts[c][r], sums[c][r]);
    }
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const float base = bias != nullptr ? to_float(bias[columns[c]]) : 0.0F;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float sum = warp_sum(sums[c][r]) + base;
      if (lane == 0 && r < rows && first + c < weight.rows)
        store_number(sum, y + r * weight.rows + columns[c]);
    }
  }
}

/// Rows of the matrix, or those that `tokens` select, in bf16; 16 bytes of codes a thread.
template <BlockFormat kFormat>
__global__ void __launch_bounds__(kThreads)
    widen_kernel(MatrixView matrix, const std::int32_t* tokens, Bf16* to, std::int64_t rows) {
  using Codes = Chunk<kFormat>;
  const std::int64_t chunks = matrix.width / Codes::kElements;
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= rows * chunks) return;
  const std::int64_t row = index / chunks;
  const std::int64_t from = (tokens != nullptr ? tokens[row] : row) * chunks + index % chunks;
  const Codes codes(matrix.codes + from);
  const float scale = to_float(matrix.scales[from / Codes::kPer_block]);
#pragma unroll
  for (int eight = 0; eight < Codes::kEights; ++eight) {
    Eight values = codes.codes(eight);
#pragma unroll
    for (int i = 0; i < kEight; ++i)
      values.at[i] *= scale;
    store_eight<true>(values, to + index * Codes::kElements + eight * kEight, kEight);
  }
}

template <BlockFormat kFormat>
using FormatConstant = std::integral_constant<BlockFormat, kFormat>;

/// Calls body with the format as a constant.
template <class Body>
void with_format(BlockFormat format, const Body& body) {
  if (format == BlockFormat::q8_0) {
    body(FormatConstant<BlockFormat::q8_0>());
  } else {
    body(FormatConstant<BlockFormat::q4_0>());
  }
}

/// Calls body with the least constant that is not below `rows`.
template <class Body>
void with_rows(std::int64_t rows, const Body& body) {
  if (rows == 1) {
    body(std::integral_constant<int, 1>());
  } else if (rows == 2) {
    body(std::integral_constant<int, 2>());
  } else if (rows <= 4) {
    body(std::integral_constant<int, 4>());
  } else {
    body(std::integral_constant<int, static_cast<int>(kFewQuantisedRows)>());
  }
}

void launch_widen(Stream stream, const QuantisedMatrix& matrix, const Tensor& tokens,
                  const Tensor& to) {
  with_format(matrix.format, [&](auto format) {
    const std::int64_t chunks = to.elements() / Chunk<format>::kElements;
    launch(widen_kernel<format>, {blocks_for(chunks, kThreads), kThreads}, stream, view_of(matrix),
           tokens.present() ? tokens.as<std::int32_t>() : nullptr, to.as<Bf16>(), to.rows());
  });
}

}  // namespace

void quantised_rows(Stream stream, const QuantisedLinear& op) {
  const auto rows = static_cast<int>(op.x.rows());
  const LaunchShape shape{blocks_for(op.weight.rows(), kWarps * kColumns), kThreads};
  with_format(op.weight.format, [&](auto format) {
    with_rows(rows, [&](auto most) {
      with_type_of(op.y, [&]<class Y>(Y*) {
        launch(quantised_rows_kernel<format, most, Y>, shape, stream, view_of(op.weight),
               op.x.as<Bf16>(), op.bias.present() ? op.bias.as<Bf16>() : nullptr, op.y.as<Y>(),
               rows);
      });
    });
  });
}

void quantised_embedding(Stream stream, const QuantisedEmbedding& op) {
  launch_widen(stream, op.table, op.tokens, op.out);
}

void widen(Stream stream, const QuantisedMatrix& matrix, const Tensor& to) {
  launch_widen(stream, matrix, {}, to);
}

}  // namespace athanor::cuda
