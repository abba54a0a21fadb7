// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/gemm.h"

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/gemm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// Terms added in registers before the result is touched: a panel of b then stays in the first
/// cache.
constexpr std::int64_t kDepthBlock = 256;
static_assert(kDepthRound % kDepthBlock == 0);
/// Terms packed by one task.
constexpr std::int64_t kPackDepth = 128;
/// Rows of a task, a multiple of every panel height, and columns of a task.
constexpr std::int64_t kTaskRows = 96;
constexpr std::int64_t kTaskColumns = 512;
/// A copied row of a, kept off powers of two so that a panel's rows do not share cache sets.
constexpr std::int64_t kRowFloats = kDepthBlock + 16;
/// Floats from row to row of a task's result that is bf16 in the end.
constexpr std::int64_t kResultStride = kTaskColumns + 16;
static_assert(kTaskRows * (kRowFloats + kResultStride) <= Context::kTaskFloats);

/// Stored rows asked for ahead of use: short pieces of rows are no stream that a processor follows.
constexpr std::int64_t kRowsAhead = 8;
constexpr std::int64_t kLine_bytes = 64;

constexpr std::int64_t blocks_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

template <class T>
HWY_INLINE void prefetch(const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLine_bytes / static_cast<std::int64_t>(sizeof(T)))
    __builtin_prefetch(from + i);
}

template <int kCount>
HWY_INLINE void copy_floats(const float* from, float* to) {
  constexpr int kWhole = kCount / kLanes * kLanes;
  for (int i = 0; i < kWhole; i += kLanes) {
    hn::StoreU(hn::LoadU(kFloat, from + i), kFloat, to + i);
  }
  if constexpr (HWY_TARGET == HWY_AVX3 && kCount - kWhole > 1) {
    const auto rest = hn::FirstN(kFloat, kCount - kWhole);
    hn::BlendedStore(hn::MaskedLoad(rest, kFloat, from + kWhole), rest, kFloat, to + kWhole);
  } else {
    for (int i = kWhole; i < kCount; ++i)
      to[i] = from[i];
  }
}

HWY_INLINE void copy_columns(const float* from, std::int64_t columns, float* to) {
  if (columns < kTileColumns) {
    std::copy_n(from, columns, to);
  } else {
    copy_floats<kTileColumns>(from, to);
  }
}
HWY_INLINE void copy_columns(const Bf16* from, std::int64_t columns, float* to) {
  to_floats(from, columns, to);
}

/// to[k][column] for one panel of kTileColumns columns, zeros beyond `columns`.
template <class T>
void pack_panel(const Operand& b, std::int64_t first_k, std::int64_t depth,
                std::int64_t first_column, std::int64_t columns, float* to) {
  if (columns < kTileColumns) std::fill_n(to, depth * kTileColumns, 0.0F);
  if (!b.transposed) {
    const T* from = b.data.as<T>() + first_k * b.stride + first_column;
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* source = from + k * b.stride;
      prefetch(source + kRowsAhead * b.stride, columns);
      copy_columns(source, columns, to + k * kTileColumns);
    }
    return;
  }
  HWY_ALIGN float widened_rows[kTileColumns * kPackDepth];
  const FloatRows rows = float_rows(b.data.from(first_column * b.stride + first_k), b.stride,
                                    columns, depth, widened_rows);
  transpose(rows.data, rows.stride, columns, depth, to, kTileColumns);
}

/// Copies rows × depth of a next to each other: rows of kRowFloats, or when a is transposed panels
/// [depth][height] as for_row_panels cuts them.
template <class T>
void copy_left(const Operand& a, std::int64_t first_row, std::int64_t rows, std::int64_t first_k,
               std::int64_t depth, float* to) {
  if (!a.transposed) {
    for (std::int64_t row = 0; row < rows; ++row) {
      copy_reals(a.data.from((first_row + row) * a.stride + first_k), to + row * kRowFloats, depth);
    }
    return;
  }
  // Whole stored rows one after the other: what of them is read then lies together.
  HWY_ALIGN float widened_row[kTaskRows];
  const T* from = a.data.as<T>() + first_k * a.stride + first_row;
  for (std::int64_t k = 0; k < depth; ++k) {
    prefetch(from + (k + kRowsAhead) * a.stride, rows);
    const float* source = floats_of(from + k * a.stride, rows, widened_row);
    for_row_panels(rows, [&](std::int64_t row, auto height) HWY_ATTR {
      float* panel = to + row * depth + k * height;
      copy_floats<height>(source + row, panel);
    });
  }
}

/// One round of a product: columns [first_column, +columns) and terms [first_k, +depth) are packed.
struct Round {
  const Product& product;
  std::int64_t first_column;
  std::int64_t columns;
  std::int64_t first_k;
  std::int64_t depth;
  const float* packed;

  const float* panel(std::int64_t column, std::int64_t k) const {
    return packed + column * depth + k * kTileColumns;
  }
};

/// A row panel of one tile height times one packed panel.
template <int kRows, bool kTransposed>
HWY_INLINE void run_tile(const float* left, const float* right, std::int64_t depth, float* c,
                         std::int64_t c_stride, std::int64_t columns, bool add, float factor,
                         const float* bias) {
  for (int i = 0; i < kRows; ++i) {
    __builtin_prefetch(c + i * c_stride, 1);
    __builtin_prefetch(c + i * c_stride + kTileColumns - 1, 1);
  }
  Tile<kRows, kTileVectors> tile;
  tile.clear();
  tile.add_product(kTransposed ? LeftView{left, 1, kRows} : LeftView{left, kRowFloats, 1},
                   {right, kTileColumns}, depth);
  if (factor != 1) tile.scale(factor);
  if (bias != nullptr) {
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; ++j) {
      if (columns <= j * kLanes) break;
      const FloatVector term = load_up_to(bias + j * kLanes, columns - j * kLanes);
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i)
        tile.at[i][j] = hn::Add(tile.at[i][j], term);
    }
  }
  if (add) {
    tile.template store<true>(c, c_stride, columns);
  } else {
    tile.template store<false>(c, c_stride, columns);
  }
}

/// The part of a round's result that one task makes.
struct Block {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_column;
  std::int64_t columns;
};

/// Where a task sums up its part of the result.
struct Result {
  float* data;
  std::int64_t stride;
};

template <class A, bool kTransposed>
void run_block(const Round& round, const Block& block, const Result& result, float* left) {
  const Product& product = round.product;
  const std::int64_t first_column = round.first_column + block.first_column;
  HWY_ALIGN float widened_bias[kTaskColumns];
  const float* biases = product.bias.present() ? floats_of(product.bias.from(first_column),
                                                           block.columns, widened_bias)
                                               : nullptr;
  for (std::int64_t k = 0; k < round.depth; k += kDepthBlock) {
    const std::int64_t depth = std::min(kDepthBlock, round.depth - k);
    const bool add = product.accumulate || round.first_k + k > 0;
    copy_left<A>(product.a, block.first_row, block.rows, round.first_k + k, depth, left);
    for (std::int64_t column = 0; column < block.columns; column += kTileColumns) {
      const float* right = round.panel(block.first_column + column, k);
      const float* bias = biases != nullptr && !add ? biases + column : nullptr;
      float* c = result.data + column;
      for_row_panels(block.rows, [&](std::int64_t row, auto height) HWY_ATTR {
        run_tile<height, kTransposed>(left + row * (kTransposed ? depth : kRowFloats), right, depth,
                                      c + row * result.stride, result.stride,
                                      block.columns - column, add, product.factor, bias);
      });
    }
  }
}

template <class A>
void run_block(const Round& round, const Block& block, const Result& result, float* left) {
  if (round.product.a.transposed) {
    run_block<A, true>(round, block, result, left);
  } else {
    run_block<A, false>(round, block, result, left);
  }
}

/// Runs a block whose result is bf16: summed up in floats from what is there, rounded at the end.
template <class A>
void run_rounded_block(const Round& round, const Block& block, float* left) {
  const Product& product = round.product;
  const Result result{left + kTaskRows * kRowFloats, kResultStride};
  const Reals c =
      product.c.from(block.first_row * product.c_stride + round.first_column + block.first_column);
  const bool add = product.accumulate || round.first_k > 0;
  for (std::int64_t row = 0; add && row < block.rows; ++row) {
    copy_reals(c.from(row * product.c_stride), result.data + row * result.stride, block.columns);
  }
  run_block<A>(round, block, result, left);
  for (std::int64_t row = 0; row < block.rows; ++row) {
    copy_reals(result.data + row * result.stride, c.from(row * product.c_stride), block.columns);
  }
}

/// Rows of each task: at most kTaskRows, and so that the tasks share out evenly among the threads.
/// How an element's terms are added does not depend on it.
std::int64_t rows_of_tasks(std::int64_t rows, std::int64_t column_blocks, std::int64_t threads) {
  const std::int64_t tasks = blocks_of(rows, kTaskRows) * column_blocks;
  const std::int64_t even_tasks = blocks_of(tasks, threads) * threads;
  const std::int64_t row_blocks = blocks_of(even_tasks, column_blocks);
  return blocks_of(blocks_of(rows, row_blocks), kTileRows) * kTileRows;
}

void run_round(Context& context, const Round& round) {
  const std::int64_t column_blocks = blocks_of(round.columns, kTaskColumns);
  const std::int64_t task_rows =
      rows_of_tasks(round.product.rows, column_blocks, context.pool().threads());
  const std::int64_t row_blocks = blocks_of(round.product.rows, task_rows);
  context.pool().parallel_for(row_blocks * column_blocks, [&](std::int64_t task) {
    const Context::TaskScratch scratch(context);
    const std::int64_t row = task % row_blocks * task_rows;
    const std::int64_t column = task / row_blocks * kTaskColumns;
    const Block block{.first_row = row,
                      .rows = std::min(task_rows, round.product.rows - row),
                      .first_column = column,
                      .columns = std::min(kTaskColumns, round.columns - column)};
    with_type_of(round.product.a.data, [&]<class A>(A*) {
      const Product& product = round.product;
      if (product.c.halves()) {
        run_rounded_block<A>(round, block, scratch.data());
        return;
      }
      float* c = product.c.as<float>() + row * product.c_stride + round.first_column + column;
      run_block<A>(round, block, {c, product.c_stride}, scratch.data());
    });
  });
}

void pack(Context& context, const Round& round, float* to) {
  const std::int64_t panels = blocks_of(round.columns, kTileColumns);
  const std::int64_t pieces = blocks_of(round.depth, kPackDepth);
  context.pool().parallel_for(panels * pieces, [&](std::int64_t task) {
    const std::int64_t column = task / pieces * kTileColumns;
    const std::int64_t k = task % pieces * kPackDepth;
    with_type_of(round.product.b.data, [&]<class B>(B*) {
      pack_panel<B>(round.product.b, round.first_k + k, std::min(kPackDepth, round.depth - k),
                    round.first_column + column, std::min(kTileColumns, round.columns - column),
                    to + column * round.depth + k * kTileColumns);
    });
  });
}

/// Element (row, column) of a product of a few rows.
template <class A, class B>
void multiply_row(const Product& product, std::int64_t row, std::int64_t column) {
  const float value =
      product.factor * dot(product.a.data.as<A>() + row * product.a.stride,
                           product.b.data.as<B>() + column * product.b.stride, product.depth);
  with_type_of(product.c, [&]<class C>(C*) {
    C* to = product.c.as<C>() + row * product.c_stride + column;
    const float base = product.accumulate ? get(to) : 0.0F;
    put((product.bias.present() ? product.bias.at(column) : base) + value, to);
  });
}

/// A few rows times a transposed b: b is read once and copied nowhere.
template <class A, class B>
void multiply_few_rows(Context& context, const Product& product) {
  constexpr std::int64_t kColumns = 64;
  context.pool().parallel_for(blocks_of(product.columns, kColumns), [&](std::int64_t task) {
    const std::int64_t end = std::min(product.columns, (task + 1) * kColumns);
    for (std::int64_t column = task * kColumns; column < end; ++column) {
      for (std::int64_t row = 0; row < product.rows; ++row)
        multiply_row<A, B>(product, row, column);
    }
  });
}

}  // namespace

void multiply_for_target(Context& context, const Product& product) {
  if (product.rows <= kFewRows && !product.a.transposed && product.b.transposed) {
    with_types_of(product.a.data, product.b.data,
                  [&]<class A, class B>(A*, B*) { multiply_few_rows<A, B>(context, product); });
    return;
  }
  for (std::int64_t k = 0; k < product.depth; k += kDepthRound) {
    const std::int64_t depth = std::min(kDepthRound, product.depth - k);
    const std::int64_t most = Context::kPackFloats / depth / kTileColumns * kTileColumns;
    for (std::int64_t column = 0; column < product.columns; column += most) {
      const Round round{product, column, std::min(most, product.columns - column),
                        k,       depth,  context.pack()};
      pack(context, round, context.pack());
      run_round(context, round);
    }
  }
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(multiply_for_target);

void multiply(Context& context, const Product& product) {
  HWY_DYNAMIC_DISPATCH(multiply_for_target)(context, product);
}

void linear(Context& context, const Linear& op) {
  const std::int64_t in = op.x.shape[1];
  const std::int64_t out = op.y.shape[1];
  multiply(context, {.rows = op.x.rows(),
                     .columns = out,
                     .depth = in,
                     .a = {op.x, in},
                     .b = {op.weight, in, true},
                     .c = op.y,
                     .c_stride = out,
                     .bias = op.bias});
}

void linear_backward(Context& context, const LinearBackward& op) {
  const std::int64_t in = op.x.shape[1];
  const std::int64_t out = op.d_y.shape[1];
  if (op.d_x.present()) {
    multiply(context, {.rows = op.x.rows(),
                       .columns = in,
                       .depth = out,
                       .a = {op.d_y, out},
                       .b = {op.weight, in},
                       .c = op.d_x,
                       .c_stride = in});
  }
  if (op.d_weight.present()) {
    multiply(context, {.rows = out,
                       .columns = in,
                       .depth = op.x.rows(),
                       .a = {op.d_y, out, true},
                       .b = {op.x, in},
                       .c = op.d_weight,
                       .c_stride = in,
                       .accumulate = true});
  }
  if (op.d_bias.present()) add_column_sums(context, op.d_y, op.d_bias);
}

}  // namespace athanor::cpu
#endif
