// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/rows.h"

namespace athanor::cuda {
namespace {

constexpr int kWarps = 8;
/// Elements of a head that a lane holds at most.
constexpr int kMost_in_lane = static_cast<int>(kWidestHeadNorm) / kWarp;

/// Elements lane, lane + 32, … of a head.
struct LanePart {
  float at[kMost_in_lane];
};

template <class T>
__device__ __forceinline__ LanePart load_part(const T* head, int head_dim, int lane) {
  LanePart part{};
  for (int j = 0; j < kMost_in_lane; ++j) {
    const int i = lane + j * kWarp;
    if (i < head_dim) part.at[j] = to_float(head[i]);
  }
  return part;
}

__device__ __forceinline__ void store_part(const LanePart& part, Bf16* head, int head_dim,
                                           int lane) {
  for (int j = 0; j < kMost_in_lane; ++j) {
    const int i = lane + j * kWarp;
    if (i < head_dim) head[i] = to_bf16(part.at[j]);
  }
}

struct HeadCounts {
  int heads;
  int kv_heads;
  int head_dim;
  std::int64_t rows;

  explicit HeadCounts(const AttentionShape& shape, std::int64_t all_rows)
      : heads(static_cast<int>(shape.heads)),
        kv_heads(static_cast<int>(shape.kv_heads)),
        head_dim(static_cast<int>(shape.head_dim)),
        rows(all_rows) {}
  __device__ __forceinline__ int normed() const { return heads + kv_heads; }
  __device__ __forceinline__ int all() const { return heads + 2 * kv_heads; }
};

/// One warp a head of a row; the heads of values are copied.
__global__ void __launch_bounds__(kWarps* kWarp)
    qk_norm_kernel(const Bf16* qkv, const Bf16* q_weight, const Bf16* k_weight, Bf16* out,
                   float* rstd, HeadCounts of, float epsilon) {
  const std::int64_t item = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (item >= of.rows * of.all()) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row = item / of.all();
  const int head = static_cast<int>(item % of.all());
  LanePart x = load_part(qkv + item * of.head_dim, of.head_dim, lane);
  if (head < of.normed()) {
    float squares = 0;
    for (int j = 0; j < kMost_in_lane; ++j)
      squares = fmaf(x.at[j], x.at[j], squares);
    const float scale = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(of.head_dim) + epsilon);
    if (lane == 0) rstd[row * of.normed() + head] = scale;
    const LanePart weight = load_part(head < of.heads ? q_weight : k_weight, of.head_dim, lane);
    for (int j = 0; j < kMost_in_lane; ++j)
      x.at[j] = x.at[j] * scale * weight.at[j];
  }
  store_part(x, out + item * of.head_dim, of.head_dim, lane);
}

/// A block takes one part of the rows, its warps the normed heads in turn; the sums over warps have
/// a fixed order.
__global__ void __launch_bounds__(kWarps* kWarp)
    qk_norm_backward_kernel(const Bf16* qkv, const Bf16* q_weight, const Bf16* k_weight,
                            const float* rstd, Bf16* d_qkv, float* parts, HeadCounts of) {
  ATHANOR_SHARED(float, sums, [kWarps][2][kMost_in_lane * kWarp]);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  LanePart d_weights[2] = {};
  const std::int64_t first = blockIdx.x * of.rows / gridDim.x * of.normed();
  const std::int64_t end = (blockIdx.x + std::int64_t{1}) * of.rows / gridDim.x * of.normed();
  for (std::int64_t item = first + warp; item < end; item += kWarps) {
    const std::int64_t row = item / of.normed();
    const int head = static_cast<int>(item % of.normed());
    const bool query = head < of.heads;
    const std::int64_t place = (row * of.all() + head) * of.head_dim;
    const LanePart x = load_part(qkv + place, of.head_dim, lane);
    const LanePart weight = load_part(query ? q_weight : k_weight, of.head_dim, lane);
    LanePart d = load_part(d_qkv + place, of.head_dim, lane);
    const float scale = rstd[item];
    float projection = 0;
    for (int j = 0; j < kMost_in_lane; ++j) {
      const float share = d.at[j] * x.at[j] * scale;
      // No index into registers may depend on the head.
      d_weights[0].at[j] += query ? share : 0.0F;
      d_weights[1].at[j] += query ? 0.0F : share;
      d.at[j] *= weight.at[j];
      projection = fmaf(d.at[j], x.at[j], projection);
    }
    projection = warp_sum(projection) * scale * scale / static_cast<float>(of.head_dim);
    for (int j = 0; j < kMost_in_lane; ++j)
      d.at[j] = scale * (d.at[j] - x.at[j] * projection);
    store_part(d, d_qkv + place, of.head_dim, lane);
  }
  for (int side = 0; side < 2; ++side)
    for (int j = 0; j < kMost_in_lane; ++j)
      sums[warp][side][lane + j * kWarp] = d_weights[side].at[j];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < 2 * of.head_dim; i += kWarps * kWarp) {
    float sum = 0;
    for (int w = 0; w < kWarps; ++w)
      sum += sums[w][i / of.head_dim][i % of.head_dim];
    parts[std::int64_t{blockIdx.x} * 2 * of.head_dim + i] = sum;
  }
}

/// d_weight += Σ of the parts' shares.
template <class T>
__global__ void __launch_bounds__(kWarp)
    add_shares_kernel(const float* parts, std::int64_t count, int head_dim, T* d_q_weight,
                      T* d_k_weight) {
  const int i = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (std::int64_t part = lane; part < count; part += kWarp)
    sum += parts[part * 2 * head_dim + i];
  sum = warp_sum(sum);
  if (lane > 0) return;
  T* place = i < head_dim ? d_q_weight + i : d_k_weight + (i - head_dim);
  if constexpr (std::is_same_v<T, Bf16>) {
    *place = to_bf16(to_float(*place) + sum);
  } else {
    *place += sum;
  }
}

constexpr int kThreads = 256;

/// A thread turns kPairs pairs of one head: elements i and i + head_dim/2.
template <int kPairs>
__global__ void __launch_bounds__(kThreads)
    rope_kernel(Bf16* qkv, const float* table, HeadCounts of, std::int64_t sequence,
                std::int64_t first_position, float direction) {
  const int half = of.head_dim / 2;
  const std::int64_t threads_a_row = std::int64_t{of.normed()} * (half / kPairs);
  const std::int64_t item = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (item >= of.rows * threads_a_row) return;
  const std::int64_t row = item / threads_a_row;
  const int in_row = static_cast<int>(item % threads_a_row);
  const int head = in_row / (half / kPairs);
  const int i = in_row % (half / kPairs) * kPairs;
  Bf16* x = qkv + (row * of.all() + head) * of.head_dim + i;
  const float* turn = table + (first_position + row % sequence) * of.head_dim + i;
  constexpr bool kWhole = kPairs == kEight;
  Eight a = load_eight<kWhole>(x, kPairs);
  Eight b = load_eight<kWhole>(x + half, kPairs);
  const Eight cosine = load_eight<kWhole>(turn, kPairs);
  const Eight sine = load_eight<kWhole>(turn + half, kPairs);
  for (int j = 0; j < kPairs; ++j) {
    const float s = direction * sine.at[j];
    const float turned = fmaf(-b.at[j], s, a.at[j] * cosine.at[j]);
    b.at[j] = fmaf(a.at[j], s, b.at[j] * cosine.at[j]);
    a.at[j] = turned;
  }
  store_eight<kWhole>(a, x, kPairs);
  store_eight<kWhole>(b, x + half, kPairs);
}

}  // namespace

void qk_norm(Stream stream, const QkNorm& op) {
  const HeadCounts of(op.shape, op.qkv.rows());
  const std::int64_t items = of.rows * (op.shape.heads + 2 * op.shape.kv_heads);
  launch(qk_norm_kernel, {blocks_for(items, kWarps), kWarps * kWarp}, stream, op.qkv.as<Bf16>(),
         op.q_weight.as<Bf16>(), op.k_weight.as<Bf16>(), op.out.as<Bf16>(), op.rstd.as<float>(), of,
         op.epsilon);
}

void qk_norm_backward(Stream stream, const QkNormBackward& op) {
  const HeadCounts of(op.shape, op.qkv.rows());
  const std::int64_t parts = op.scratch.rows();
  launch(qk_norm_backward_kernel, {static_cast<unsigned>(parts), kWarps * kWarp}, stream,
         op.qkv.as<Bf16>(), op.q_weight.as<Bf16>(), op.k_weight.as<Bf16>(), op.rstd.as<float>(),
         op.d_qkv.as<Bf16>(), op.scratch.as<float>(), of);
  if (!op.d_q_weight.present()) return;
  with_type_of(op.d_q_weight, [&]<class T>(T*) {
    launch(add_shares_kernel<T>, {static_cast<unsigned>(2 * of.head_dim), kWarp}, stream,
           op.scratch.as<float>(), parts, of.head_dim, op.d_q_weight.as<T>(),
           op.d_k_weight.as<T>());
  });
}

void rope(Stream stream, const Rope& op) {
  const HeadCounts of(op.shape, op.qkv.rows());
  const auto turn = [&](auto pairs) {
    const std::int64_t threads =
        of.rows * (op.shape.heads + op.shape.kv_heads) * (op.shape.head_dim / 2 / pairs);
    launch(rope_kernel<pairs>, {blocks_for(threads, kThreads), kThreads}, stream, op.qkv.as<Bf16>(),
           op.table.as<float>(), of, op.shape.sequence, op.first_position,
           op.inverse ? -1.0F : 1.0F);
  };
  if (op.shape.head_dim % (2 * kEight) == 0) {
    turn(std::integral_constant<int, kEight>());
  } else {
    turn(std::integral_constant<int, 1>());
  }
}

}  // namespace athanor::cuda
