// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <type_traits>

#include "engine/backend/cuda/dropout.h"
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/peaks.h"
#include "engine/backend/cuda/rows.h"

namespace athanor::cuda {
namespace {

/// One warp a row: rows are independent, and no barrier is needed.
constexpr int kWarps = 8;

struct AddNormArguments {
  const Bf16* input;
  const Bf16* branch;  ///< null without one
  const Bf16* weight;
  Bf16* sum;
  Bf16* out;
  float* rstd;
  std::int64_t rows;
  std::int64_t width;
  float epsilon;
  DropoutArguments dropout;
  float* peak;  ///< null where not wanted
};

/// A warp's row; the largest magnitude of its part of the norm.
template <bool kWhole>
__device__ __forceinline__ std::uint32_t add_and_norm_row(const AddNormArguments& to,
                                                          std::int64_t row) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t place = row * to.width;
  const DropoutFactors dropout = to.dropout.factors();
  float squares = 0;
  for (std::int64_t i = lane * kEight; i < to.width; i += kWarp * kEight) {
    const std::int64_t left = to.width - i;
    Eight x = load_eight<kWhole>(to.input + place + i, left);
    if (to.branch != nullptr) {
      Eight added = load_eight<kWhole>(to.branch + place + i, left);
      dropout.apply<kWhole>(added, place + i);
      // The norm is that of the sum as it is stored.
      for (int j = 0; j < kEight; ++j)
        x.at[j] = to_float(to_bf16(x.at[j] + added.at[j]));
      store_eight<kWhole>(x, to.sum + place + i, left);
    }
    for (int j = 0; j < kEight; ++j)
      squares = fmaf(x.at[j], x.at[j], squares);
  }
  const float rstd = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(to.width) + to.epsilon);
  if (lane == 0) to.rstd[row] = rstd;
  const Bf16* from = to.branch != nullptr ? to.sum : to.input;
  std::uint32_t peak = 0;
  for (std::int64_t i = lane * kEight; i < to.width; i += kWarp * kEight) {
    const std::int64_t left = to.width - i;
    Eight x = load_eight<kWhole>(from + place + i, left);
    const Eight weight = load_eight<kWhole>(to.weight + i, left);
    for (int j = 0; j < kEight; ++j)
      x.at[j] = x.at[j] * rstd * weight.at[j];
    store_eight<kWhole>(x, to.out + place + i, left);
    peak = max(peak, magnitude_bits(x));
  }
  return peak;
}

template <bool kWhole>
__global__ void __launch_bounds__(kWarps* kWarp) add_norm_kernel(AddNormArguments to) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  ATHANOR_SHARED(std::uint32_t, of_warps, [kWarp]);
  raise_peak_by_block(to.peak, row < to.rows ? add_and_norm_row<kWhole>(to, row) : 0, of_warps);
}

template <bool kWhole>
__global__ void __launch_bounds__(kWarps* kWarp)
    norm_again_kernel(const Bf16* x, const float* rstd, const Bf16* weight, Bf16* out,
                      std::int64_t rows, std::int64_t width) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (row >= rows) return;
  const float scale = rstd[row];
  for (std::int64_t i = threadIdx.x % kWarp * kEight; i < width; i += kWarp * kEight) {
    Eight values = load_eight<kWhole>(x + row * width + i, width - i);
    const Eight weights = load_eight<kWhole>(weight + i, width - i);
    for (int j = 0; j < kEight; ++j)
      values.at[j] = values.at[j] * scale * weights.at[j];
    store_eight<kWhole>(values, out + row * width + i, width - i);
  }
}

struct NormBackwardArguments {
  const Bf16* d_out;
  const Bf16* d_residual;  ///< null without one
  const Bf16* sum;
  const Bf16* weight;
  const float* rstd;
  Bf16* d_sum;
  Bf16* d_branch;  ///< null without dropout
  float* parts;    ///< [blocks, width] shares of the weight's gradient
  std::int64_t rows;
  std::int64_t width;
  DropoutArguments dropout;
  float* peak;  ///< null where not wanted
};

constexpr int kMost_threads = 512;
constexpr int kMost_sweeps = 2;
static_assert(kMost_sweeps * kMost_threads * kEight == kWidestNorm);

/// A block takes one part of the rows, its threads the columns: eight in each of kSweeps, whose
/// weights and weight gradients stay in registers over all rows.
template <int kSweeps, bool kWhole>
__global__ void __launch_bounds__(kMost_threads, 1) norm_backward_kernel(NormBackwardArguments to) {
  ATHANOR_SHARED(float, sums, [2][kWarp]);
  ATHANOR_SHARED(std::uint32_t, of_warps, [kWarp]);
  const std::int64_t stride = std::int64_t{blockDim.x} * kEight;
  const std::int64_t column = std::int64_t{threadIdx.x} * kEight;
  const DropoutFactors dropout = to.dropout.factors();
  Eight weight[kSweeps] = {};
  Eight d_weight[kSweeps] = {};
#pragma unroll
  for (int s = 0; s < kSweeps; ++s) {
    const std::int64_t at = column + s * stride;
    if (at < to.width) weight[s] = load_eight<kWhole>(to.weight + at, to.width - at);
  }
  std::uint32_t peak = 0;
  const std::int64_t end = (blockIdx.x + std::int64_t{1}) * to.rows / gridDim.x;
  for (std::int64_t row = blockIdx.x * to.rows / gridDim.x; row < end; ++row) {
    const std::int64_t place = row * to.width;
    const float rstd = to.rstd[row];
    Eight x[kSweeps] = {};
    Eight d[kSweeps] = {};
    float projection = 0;
#pragma unroll
    for (int s = 0; s < kSweeps; ++s) {
      const std::int64_t at = column + s * stride;
      if (at >= to.width) continue;
      x[s] = load_eight<kWhole>(to.sum + place + at, to.width - at);
      d[s] = load_eight<kWhole>(to.d_out + place + at, to.width - at);
      for (int j = 0; j < kEight; ++j) {
        d_weight[s].at[j] = fmaf(d[s].at[j], x[s].at[j] * rstd, d_weight[s].at[j]);
        d[s].at[j] *= weight[s].at[j];
        projection = fmaf(d[s].at[j], x[s].at[j], projection);
      }
    }
    projection = block_sum(projection, sums, static_cast<int>(row % 2)) * rstd * rstd /
                 static_cast<float>(to.width);
#pragma unroll
    for (int s = 0; s < kSweeps; ++s) {
      const std::int64_t at = column + s * stride;
      if (at >= to.width) continue;
      const std::int64_t left = to.width - at;
      Eight residual{};
      if (to.d_residual != nullptr) residual = load_eight<kWhole>(to.d_residual + place + at, left);
      for (int j = 0; j < kEight; ++j)
        d[s].at[j] = fmaf(rstd, d[s].at[j] - x[s].at[j] * projection, residual.at[j]);
      store_eight<kWhole>(d[s], to.d_sum + place + at, left);
      if (to.d_branch != nullptr) {
        dropout.apply<kWhole>(d[s], place + at);
        store_eight<kWhole>(d[s], to.d_branch + place + at, left);
      }
      peak = max(peak, magnitude_bits(d[s]));
    }
  }
  raise_peak_by_block(to.peak, peak, of_warps);
#pragma unroll
  for (int s = 0; s < kSweeps; ++s) {
    const std::int64_t at = column + s * stride;
    if (at < to.width)
      store_eight<kWhole>(d_weight[s], to.parts + blockIdx.x * to.width + at, to.width - at);
  }
}

/// Columns and rows of the block that adds up columns.
constexpr int kColumns = 32;
constexpr int kRows = 16;

template <class From, class To>
__global__ void __launch_bounds__(kColumns* kRows)
    add_columns_kernel(const From* from, std::int64_t rows, std::int64_t columns, To* to) {
  ATHANOR_SHARED(float, parts, [kRows][kColumns + 1]);
  const int in_block = static_cast<int>(threadIdx.x) % kColumns;
  const int part = static_cast<int>(threadIdx.x) / kColumns;
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + in_block;
  float sum = 0;
  if (column < columns) {
    for (std::int64_t row = part; row < rows; row += kRows) {
      if constexpr (std::is_same_v<From, Bf16>) {
        sum += to_float(from[row * columns + column]);
      } else {
        sum += from[row * columns + column];
      }
    }
  }
  parts[part][in_block] = sum;
  __syncthreads();
  if (part == 0 && column < columns) {
    sum = 0;
    for (int i = 0; i < kRows; ++i)
      sum += parts[i][in_block];
    if constexpr (std::is_same_v<To, Bf16>) {
      to[column] = to_bf16(to_float(to[column]) + sum);
    } else {
      to[column] += sum;
    }
  }
}

const Bf16* rows_of(const Tensor& tensor) {
  return tensor.present() ? tensor.as<Bf16>() : nullptr;
}

}  // namespace

void add_norm(Stream stream, const AddNorm& op) {
  const std::int64_t rows = op.input.rows();
  const std::int64_t width = op.input.row_elements();
  const AddNormArguments arguments{.input = op.input.as<Bf16>(),
                                   .branch = rows_of(op.branch),
                                   .weight = op.weight.as<Bf16>(),
                                   .sum = op.sum.present() ? op.sum.as<Bf16>() : nullptr,
                                   .out = op.out.as<Bf16>(),
                                   .rstd = op.rstd.as<float>(),
                                   .rows = rows,
                                   .width = width,
                                   .epsilon = op.epsilon,
                                   .dropout = DropoutArguments(op.dropout),
                                   .peak = peak_of(op.peak)};
  with_flag(in_eights(width), [&](auto whole) {
    launch(add_norm_kernel<whole>, {blocks_for(rows, kWarps), kWarps * kWarp}, stream, arguments);
  });
}

void norm_again(Stream stream, const NormAgain& op) {
  const std::int64_t rows = op.x.rows();
  const std::int64_t width = op.x.row_elements();
  with_flag(in_eights(width), [&](auto whole) {
    launch(norm_again_kernel<whole>, {blocks_for(rows, kWarps), kWarps * kWarp}, stream,
           op.x.as<Bf16>(), op.rstd.as<float>(), op.weight.as<Bf16>(), op.out.as<Bf16>(), rows,
           width);
  });
}

void add_norm_backward(Stream stream, const AddNormBackward& op) {
  const std::int64_t width = op.sum.row_elements();
  const NormBackwardArguments arguments{
      .d_out = op.d_out.as<Bf16>(),
      .d_residual = rows_of(op.d_residual),
      .sum = op.sum.as<Bf16>(),
      .weight = op.weight.as<Bf16>(),
      .rstd = op.rstd.as<float>(),
      .d_sum = op.d_sum.as<Bf16>(),
      .d_branch = op.d_branch.present() ? op.d_branch.as<Bf16>() : nullptr,
      .parts = op.scratch.as<float>(),
      .rows = op.sum.rows(),
      .width = width,
      .dropout = DropoutArguments(op.dropout),
      .peak = peak_of(op.peak)};
  const std::int64_t eights = (width + kEight - 1) / kEight;
  const std::int64_t threads =
      std::min<std::int64_t>((eights + kWarp - 1) / kWarp * kWarp, kMost_threads);
  with_flag(in_eights(width), [&](auto whole) {
    with_flag(eights > threads, [&](auto twice) {
      constexpr int kSweeps = twice ? kMost_sweeps : 1;
      launch(norm_backward_kernel<kSweeps, whole>,
             {static_cast<unsigned>(op.scratch.rows()), static_cast<unsigned>(threads)}, stream,
             arguments);
    });
  });
  if (op.d_weight.present()) add_columns(stream, op.scratch, op.d_weight);
}

void add_columns(Stream stream, const Tensor& from, const Tensor& to) {
  with_type_of(from, [&]<class From>(From*) {
    with_type_of(to, [&]<class To>(To*) {
      launch(add_columns_kernel<From, To>, {blocks_for(to.elements(), kColumns), kColumns * kRows},
             stream, from.as<From>(), from.rows(), to.elements(), to.as<To>());
    });
  });
}

}  // namespace athanor::cuda
