// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/rows.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 256;

template <bool kWhole>
__global__ void __launch_bounds__(kThreads)
    embedding_kernel(const Bf16* table, const std::int32_t* tokens, Bf16* out, std::int64_t rows,
                     std::int64_t width) {
  const std::int64_t eights = (width + kEight - 1) / kEight;
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= rows * eights) return;
  const std::int64_t row = index / eights;
  const std::int64_t i = index % eights * kEight;
  const Eight values = load_eight<kWhole>(table + tokens[row] * width + i, width - i);
  store_eight<kWhole>(values, out + row * width + i, width - i);
}

/// Rows whose tokens one block compares with its own.
constexpr int kRows_at_once = 4096;
constexpr int kScatter_threads = 128;

/// The block of a token's first row among `rows` adds up all its rows, in their order, so that the
/// sum has the same bits every time, without sorting or room to sort in.
template <class To, bool kWhole>
__global__ void __launch_bounds__(kScatter_threads)
    embedding_backward_kernel(const Bf16* d_out, const std::int32_t* tokens, To* d_table,
                              std::int64_t rows, std::int64_t width) {
  ATHANOR_SHARED(std::uint32_t, same, [kRows_at_once / kWarp]);
  const std::int32_t token = tokens[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  bool seen_before = false;
  for (std::int64_t first = threadIdx.x / kWarp * kWarp; first < rows; first += kScatter_threads) {
    const std::int64_t row = first + lane;
    const bool equal = row < rows && tokens[row] == token;
    seen_before = seen_before || (equal && row < blockIdx.x);
    const unsigned bits = __ballot_sync(kAllLanes, equal);
    if (lane == 0) same[first / kWarp] = bits;
  }
  if (__syncthreads_or(seen_before)) return;
  for (std::int64_t i = std::int64_t{threadIdx.x} * kEight; i < width;
       i += kScatter_threads * kEight) {
    Eight sum{};
    for (std::int64_t group = 0; group * kWarp < rows; ++group) {
      for (std::uint32_t bits = same[group]; bits != 0; bits &= bits - 1) {
        const std::int64_t row = group * kWarp + __ffs(static_cast<int>(bits)) - 1;
        const Eight d = load_eight<kWhole>(d_out + row * width + i, width - i);
        for (int j = 0; j < kEight; ++j)
          sum.at[j] += d.at[j];
      }
    }
    To* place = d_table + token * width + i;
    Eight total = load_eight<kWhole>(place, width - i);
    for (int j = 0; j < kEight; ++j)
      total.at[j] += sum.at[j];
    store_eight<kWhole>(total, place, width - i);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    square_parts_kernel(const T* x, std::int64_t count, double* sums) {
  ATHANOR_SHARED(double, parts, [2][kWarp]);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads * kEight;
  double sum = 0;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kEight; i < count;
       i += stride) {
    const std::int64_t left = count - i;
    const Eight values =
        left >= kEight ? load_eight<true>(x + i, left) : load_eight<false>(x + i, left);
    // Eight squares add up in single precision: cards have few units for double precision.
    float squares = 0;
    for (int j = 0; j < kEight; ++j)
      squares = fmaf(values.at[j], values.at[j], squares);
    sum += static_cast<double>(squares);
  }
  sum = block_sum(sum, parts, 0);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) add_squares_kernel(double* sums, std::int64_t count) {
  ATHANOR_SHARED(double, parts, [2][kWarp]);
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads)
    sum += sums[i];
  sum = block_sum(sum, parts, 0);
  if (threadIdx.x == 0) sums[0] = sum;
}

}  // namespace

void embedding(Stream stream, const Embedding& op) {
  const std::int64_t rows = op.out.rows();
  const std::int64_t width = op.out.row_elements();
  const std::int64_t eights = (width + kEight - 1) / kEight;
  with_flag(in_eights(width), [&](auto whole) {
    launch(embedding_kernel<whole>, {blocks_for(rows * eights, kThreads), kThreads}, stream,
           op.table.as<Bf16>(), op.tokens.as<std::int32_t>(), op.out.as<Bf16>(), rows, width);
  });
}

void embedding_backward(Stream stream, const EmbeddingBackward& op) {
  const std::int64_t width = op.d_out.row_elements();
  for (std::int64_t first = 0; first < op.d_out.rows(); first += kRows_at_once) {
    const std::int64_t rows = std::min<std::int64_t>(kRows_at_once, op.d_out.rows() - first);
    with_type_of(op.d_table, [&]<class To>(To*) {
      with_flag(in_eights(width), [&](auto whole) {
        launch(embedding_backward_kernel<To, whole>,
               {static_cast<unsigned>(rows), kScatter_threads}, stream,
               op.d_out.as<Bf16>() + first * width, op.tokens.as<std::int32_t>() + first,
               op.d_table.as<To>(), rows, width);
      });
    });
  }
}

void sum_of_squares(Stream stream, const Tensor& x, double* sums) {
  const std::int64_t count = x.elements();
  const unsigned blocks = std::min(static_cast<unsigned>(kSquareParts),
                                   std::max(1U, blocks_for(count, kThreads * kEight)));
  with_type_of(x, [&]<class T>(T*) {
    launch(square_parts_kernel<T>, {blocks, kThreads}, stream, x.as<T>(), count, sums);
  });
  launch(add_squares_kernel, {1, kThreads}, stream, sums, std::int64_t{blocks});
}

}  // namespace athanor::cuda
