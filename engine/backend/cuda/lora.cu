// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/dropout.h"
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/rows.h"

namespace athanor::cuda {
namespace {

constexpr int kThreads = 256;

/// to = dropout(from), or with `kAdd` added to it.
template <bool kAdd, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    drop_kernel(DropoutArguments dropout, const Bf16* from, Bf16* to, std::int64_t rows,
                std::int64_t width) {
  const std::int64_t eights = (width + kEight - 1) / kEight;
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= rows * eights) return;
  const std::int64_t column = index % eights * kEight;
  const std::int64_t place = index / eights * width + column;
  const std::int64_t left = width - column;
  Eight values = load_eight<kWhole>(from + place, left);
  dropout.factors().apply<kWhole>(values, place);
  if constexpr (kAdd) {
    const Eight before = load_eight<kWhole>(to + place, left);
    for (int i = 0; i < kEight; ++i)
      values.at[i] += before.at[i];
  }
  store_eight<kWhole>(values, to + place, left);
}

template <bool kAdd>
void launch_drop(Stream stream, const Dropout& dropout, const Tensor& from, const Tensor& to) {
  const std::int64_t width = from.row_elements();
  const std::int64_t eights = (width + kEight - 1) / kEight;
  with_flag(in_eights(width), [&](auto whole) {
    launch(drop_kernel<kAdd, whole>, {blocks_for(from.rows() * eights, kThreads), kThreads}, stream,
           DropoutArguments(dropout), from.as<Bf16>(), to.as<Bf16>(), from.rows(), width);
  });
}

}  // namespace

void drop(Stream stream, const Dropout& dropout, const Tensor& from, const Tensor& to) {
  launch_drop<false>(stream, dropout, from, to);
}

void add_dropped(Stream stream, const Dropout& dropout, const Tensor& from, const Tensor& to) {
  launch_drop<true>(stream, dropout, from, to);
}

}  // namespace athanor::cuda
