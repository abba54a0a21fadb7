// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <span>
#include <utility>

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/parameters.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/adamw-inl.h"
#include "engine/backend/cpu/stored_weights-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

double sum_of_squares_of(const float* x, std::int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, hn::ScalableTag<double>> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  auto even = hn::Zero(wide);
  auto odd = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::PromoteTo(wide, hn::LoadU(narrow, x + i));
    const auto b = hn::PromoteTo(wide, hn::LoadU(narrow, x + i + lanes));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd)));
  for (; i < count; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

double sum_of_squares_of(const Bf16* x, std::int64_t count) {
  constexpr std::int64_t kBlock = 1024;
  HWY_ALIGN float floats[kBlock];
  double sum = 0;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t elements = std::min(kBlock, count - i);
    to_floats(x + i, elements, floats);
    sum += sum_of_squares_of(floats, elements);
  }
  return sum;
}

void update(const AdamWFactors& f, const float* gradients, std::int64_t count, float* weights,
            float* first_moments, float* second_moments) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    FloatVector w = load_up_to(weights + i, left);
    FloatVector m = load_up_to(first_moments + i, left);
    FloatVector v = load_up_to(second_moments + i, left);
    adamw_step(f, load_up_to(gradients + i, left), w, m, v);
    store_up_to(m, first_moments + i, left);
    store_up_to(v, second_moments + i, left);
    store_up_to(w, weights + i, left);
  }
}

/// Elements that are floats for a moment, where weights or gradients are not: they stay in the
/// first cache.
constexpr std::int64_t kBlock = 1024;

void update_block(const AdamW& op, const AdamWFactors& f, std::int64_t first, std::int64_t count) {
  HWY_ALIGN float widened_weights[kBlock];
  HWY_ALIGN float widened_gradients[kBlock];
  float* weights = numbers_of(op.to, first, count, widened_weights);
  update(f, floats_of(Reals(op.gradients).from(first), count, widened_gradients), count, weights,
         op.m.as<float>() + first, op.v.as<float>() + first);
  keep_numbers(op.to, op.at.rounding, first, count, weights);
}

/// Which rows have which token.
struct RowsByToken {
  std::int32_t* ends;  ///< [V]: one past the token's last place in `rows`
  std::int32_t* rows;  ///< a token's rows rise
};

/// Counting sort of rows [first, first + count), in memory for V + count numbers.
RowsByToken sort_rows(const std::int32_t* tokens, std::int64_t first, std::int64_t count,
                      std::int64_t vocabulary, std::int32_t* memory) {
  const RowsByToken sorted{memory, memory + vocabulary};
  std::fill_n(sorted.ends, vocabulary, 0);
  for (std::int64_t row = first; row < first + count; ++row)
    ++sorted.ends[tokens[row]];
  std::int32_t place = 0;
  for (std::int64_t token = 0; token < vocabulary; ++token)
    place += std::exchange(sorted.ends[token], place);
  for (std::int64_t row = first; row < first + count; ++row)
    sorted.rows[sorted.ends[tokens[row]]++] = static_cast<std::int32_t>(row);
  return sorted;
}

/// Adds all gradients of one token's rows, in order, and rounds once.
template <class T>
void add_rows(const EmbeddingBackward& op, std::span<const std::int32_t> rows, std::int64_t token) {
  const std::int64_t width = op.d_out.shape[1];
  for (std::int64_t i = 0; i < width; i += kLanes) {
    Bf16* to = op.d_table.as<Bf16>() + token * width + i;
    FloatVector sum = load_up_to(to, width - i);
    for (const std::int32_t row : rows)
      sum = hn::Add(sum, load_up_to(op.d_out.as<T>() + row * width + i, width - i));
    store_up_to(sum, to, width - i);
  }
}

template <class T>
void add_to_bf16_table(Context& context, const EmbeddingBackward& op, const RowsByToken& sorted) {
  constexpr std::int64_t kTokens = 16;
  const std::int64_t vocabulary = op.d_table.rows();
  context.pool().parallel_for((vocabulary + kTokens - 1) / kTokens, [&](std::int64_t task) {
    std::int64_t token = task * kTokens;
    std::int32_t first = token == 0 ? 0 : sorted.ends[token - 1];
    for (; token < std::min(vocabulary, (task + 1) * kTokens); ++token) {
      const std::int32_t end = sorted.ends[token];
      if (end > first) {
        add_rows<T>(op, {sorted.rows + first, sorted.rows + end}, token);
      }
      first = end;
    }
  });
}

/// Columns are the tasks: each adds all rows in order, and no two write the same element.
template <class T>
void add_to_float_table(Context& context, const EmbeddingBackward& op) {
  constexpr std::int64_t kColumns = 32;
  const std::int64_t rows = op.d_out.rows();
  const std::int64_t width = op.d_out.shape[1];
  const std::int32_t* tokens = op.tokens.as<std::int32_t>();
  context.pool().parallel_for((width + kColumns - 1) / kColumns, [&](std::int64_t task) {
    const std::int64_t first = task * kColumns;
    const std::int64_t end = std::min(width, first + kColumns);
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* from = op.d_out.as<T>() + row * width;
      float* to = op.d_table.as<float>() + tokens[row] * width;
      for (std::int64_t i = first; i < end; i += kLanes) {
        const FloatVector sum = hn::Add(load_up_to(to + i, end - i), load_up_to(from + i, end - i));
        store_up_to(sum, to + i, end - i);
      }
    }
  });
}

}  // namespace

double sum_of_squares_for_target(Context& context, const Tensor& x) {
  std::array<double, kReductionParts> parts{};
  const std::int64_t count = x.elements();
  context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
    const std::int64_t first = part * count / kReductionParts;
    const std::int64_t end = (part + 1) * count / kReductionParts;
    double& sum = parts[static_cast<std::size_t>(part)];
    sum = x.dtype == DType::bf16 ? sum_of_squares_of(x.as<Bf16>() + first, end - first)
                                 : sum_of_squares_of(x.as<float>() + first, end - first);
  });
  double sum = 0;
  for (const double part : parts)
    sum += part;
  return sum;
}

void adamw_for_target(Context& context, const AdamW& op) {
  constexpr std::int64_t kElements = 16384;
  const AdamWFactors factors = adamw_factors(op.at);
  const std::int64_t count = op.to.weights.elements();
  context.pool().parallel_for((count + kElements - 1) / kElements, [&](std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * kElements);
    for (std::int64_t first = task * kElements; first < end; first += kBlock)
      update_block(op, factors, first, std::min(kBlock, end - first));
  });
}

void embedding_for_target(Context& context, const Embedding& op) {
  constexpr std::int64_t kRows = 64;
  const std::int64_t rows = op.out.rows();
  const std::int64_t width = op.out.shape[1];
  const std::int32_t* tokens = op.tokens.as<std::int32_t>();
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      copy_reals(Reals(op.table).from(tokens[row] * width), Reals(op.out).from(row * width), width);
    }
  });
}

void embedding_backward_for_target(Context& context, const EmbeddingBackward& op) {
  with_type_of(op.d_out, [&]<class T>(T*) {
    if (op.d_table.dtype == DType::f32) {
      add_to_float_table<T>(context, op);
      return;
    }
    // A bf16 table is rounded once for as many rows as the lists have room for: millions.
    const std::int64_t vocabulary = op.d_table.rows();
    const std::int64_t most = Context::kPackFloats - vocabulary;
    auto* memory = reinterpret_cast<std::int32_t*>(context.pack());
    for (std::int64_t first = 0; first < op.d_out.rows(); first += most) {
      const std::int64_t count = std::min(most, op.d_out.rows() - first);
      add_to_bf16_table<T>(
          context, op, sort_rows(op.tokens.as<std::int32_t>(), first, count, vocabulary, memory));
    }
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(sum_of_squares_for_target);
HWY_EXPORT(adamw_for_target);
HWY_EXPORT(embedding_for_target);
HWY_EXPORT(embedding_backward_for_target);

double sum_of_squares(Context& context, const Tensor& x) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_for_target)(context, x);
}

void adamw(Context& context, const AdamW& op) {
  HWY_DYNAMIC_DISPATCH(adamw_for_target)(context, op);
}

void embedding(Context& context, const Embedding& op) {
  HWY_DYNAMIC_DISPATCH(embedding_for_target)(context, op);
}

void embedding_backward(Context& context, const EmbeddingBackward& op) {
  HWY_DYNAMIC_DISPATCH(embedding_backward_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
