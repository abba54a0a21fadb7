// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/backend.h"
#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/quantised.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>
#include <type_traits>

#include "engine/backend/cpu/bf16-inl.h"

/// Products with quantised weights. Rows of x become codes of 16 bits with a scale for each block,
/// so that a block's 32 products are added exactly as whole numbers:
/// 32 · 127 · 32767 < 2^31. Weights are read once for several rows, as bytes.
HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

constexpr std::int64_t kBlock = kBlock_elements;
constexpr float kMost_code = 32767;
constexpr float kMost_float = std::numeric_limits<float>::max();

/// x in codes, as it lies in QuantisedLinear's scratch.
struct CodedRows {
  std::int16_t* codes;  ///< [N, in]
  float* scales;        ///< [N, in / 32]
  std::int64_t width;

  CodedRows(const Tensor& scratch, std::int64_t rows, std::int64_t in)
      : codes(reinterpret_cast<std::int16_t*>(scratch.data)),
        scales(reinterpret_cast<float*>(codes + rows * in)),
        width(in) {}
  std::int64_t blocks() const { return width / kBlock; }
};

/// The largest magnitude of a block, as bits: what is no number counts as the largest of all.
template <class T>
HWY_INLINE float largest_of_block(const T* x) {
  const WordTag word;
  WordVector largest = hn::Zero(word);
  for (std::int64_t i = 0; i < kBlock; i += kLanes)
    largest = hn::Max(largest, hn::BitCast(word, hn::Abs(load(x + i))));
  return hn::GetLane(hn::BitCast(kFloat, hn::MaxOfLanes(word, largest)));
}

/// What is infinite or no number gives a scale that is none, and so outputs that are none.
template <class T>
HWY_INLINE float encode_block(const T* x, std::int16_t* codes) {
  const float largest = largest_of_block(x);
  const float inverse = kMost_code / largest;
  const bool usable = largest <= kMost_float && inverse <= kMost_float;
  const hn::RebindToSigned<FloatTag> whole;
  const hn::Rebind<std::int16_t, FloatTag> narrow;
  for (std::int64_t i = 0; i < kBlock; i += kLanes) {
    const auto code = usable ? hn::NearestInt(hn::Mul(load(x + i), set(inverse))) : hn::Zero(whole);
    hn::StoreU(hn::DemoteTo(narrow, code), narrow, codes + i);
  }
  if (usable) return largest / kMost_code;
  return largest <= kMost_float ? 0 : std::numeric_limits<float>::quiet_NaN();
}

template <class T>
void encode_rows(Context& context, const Tensor& x, const CodedRows& to) {
  context.pool().parallel_for(x.rows(), [&](std::int64_t row) HWY_ATTR {
    for (std::int64_t block = 0; block < to.blocks(); ++block) {
      const std::int64_t first = row * to.width + block * kBlock;
      to.scales[row * to.blocks() + block] = encode_block(x.as<T>() + first, to.codes + first);
    }
  });
}

/// A block's codes as numbers of 16 bits. Halves of a 4-bit block lie 16 elements apart, so that
/// vectors hold no more than these.
template <BlockFormat kFormat>
struct Codes {
  using Tag = hn::CappedTag<std::int16_t, kFormat == BlockFormat::q8_0 ? 32 : 16>;
  static constexpr int kNumbers = static_cast<int>(hn::MaxLanes(Tag()));
  static constexpr int kParts = static_cast<int>(kBlock) / kNumbers;
  using SumTag = hn::RepartitionToWide<Tag>;
  using Sums = hn::Vec<hn::RebindToFloat<SumTag>>;

  hn::Vec<Tag> parts[kParts];

  HWY_INLINE void read(const std::uint8_t* from) {
    const Tag tag;
    if constexpr (kFormat == BlockFormat::q8_0) {
      const hn::Rebind<std::int8_t, Tag> bytes;
#pragma GCC unroll 4
      for (int i = 0; i < kParts; ++i) {
        const auto* part = reinterpret_cast<const std::int8_t*>(from) + i * kNumbers;
        parts[i] = hn::PromoteTo(tag, hn::LoadU(bytes, part));
      }
    } else {
      const hn::Rebind<std::uint8_t, Tag> bytes;
      const auto zero = hn::Set(tag, std::int16_t{8});
      const auto low_half = hn::Set(tag, std::int16_t{15});
#pragma GCC unroll 4
      for (int i = 0; i < kParts / 2; ++i) {
        const auto both = hn::PromoteTo(tag, hn::LoadU(bytes, from + i * kNumbers));
        parts[i] = hn::Sub(hn::And(both, low_half), zero);
        parts[kParts / 2 + i] = hn::Sub(hn::ShiftRight<4>(both), zero);
      }
    }
  }

  /// The sum of products with the codes of x, spread over lanes.
  HWY_INLINE Sums dot(const std::int16_t* x) const {
    const Tag tag;
    const SumTag whole;
    auto sum = hn::Zero(whole);
    auto other = hn::Zero(whole);
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) {
      sum = hn::ReorderWidenMulAccumulate(whole, parts[i], hn::LoadU(tag, x + i * kNumbers), sum,
                                          other);
    }
    return hn::ConvertTo(hn::RebindToFloat<SumTag>(), hn::Add(sum, other));
  }
};

HWY_INLINE void widen_scales(const std::uint16_t* from, std::int64_t count, float* to) {
  const hn::Rebind<hwy::float16_t, FloatTag> half;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto scales = hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from + i));
    hn::StoreU(hn::PromoteTo(kFloat, scales), kFloat, to + i);
  }
  for (; i < count; ++i)
    to[i] = widened(F16{from[i]});
}

/// Blocks whose scales are widened at once.
constexpr std::int64_t kScales = 128;

template <BlockFormat kFormat>
struct Multiplier {
  static constexpr std::int64_t kCode_bytes = block_code_bytes(kFormat);
  using Sums = typename Codes<kFormat>::Sums;
  static constexpr hn::RebindToFloat<typename Codes<kFormat>::SumTag> kSum{};

  const QuantisedLinear& op;
  CodedRows x;

  HWY_INLINE const std::uint8_t* codes(std::int64_t column, std::int64_t block) const {
    return op.weight.codes.as<std::uint8_t>() + (column * x.blocks() + block) * kCode_bytes;
  }

  /// Outputs of some rows and columns at once. How the terms of one are added does not depend on
  /// how many.
  template <int kRows, int kColumns>
  void multiply(std::int64_t row, std::int64_t column) const {
    HWY_ALIGN float scales[kColumns][kScales];
    Sums sums[kColumns][kRows];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
        sums[c][r] = hn::Zero(kSum);
    }
    for (std::int64_t first = 0; first < x.blocks(); first += kScales) {
      const std::int64_t count = std::min(kScales, x.blocks() - first);
      for (int c = 0; c < kColumns; ++c) {
        const std::int64_t place = (column + c) * x.blocks() + first;
        widen_scales(op.weight.scales.as<std::uint16_t>() + place, count, scales[c]);
      }
      for (std::int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 4
        for (int c = 0; c < kColumns; ++c) {
          Codes<kFormat> weight;
          weight.read(codes(column + c, first + i));
          // Short rows side by side are no stream that a processor follows.
          __builtin_prefetch(codes(column + c + 2 * kColumns, first + i));
          const auto weight_scale = hn::Set(kSum, scales[c][i]);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) {
            const std::int64_t block = (row + r) * x.blocks() + first + i;
            const Sums dot = hn::Mul(weight.dot(x.codes + block * kBlock), weight_scale);
            sums[c][r] = hn::MulAdd(dot, hn::Set(kSum, x.scales[block]), sums[c][r]);
          }
        }
      }
    }
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
        put_output(row + r, column + c, hn::GetLane(hn::SumOfLanes(kSum, sums[c][r])));
    }
  }

  HWY_INLINE void put_output(std::int64_t row, std::int64_t column, float value) const {
    if (op.bias.present()) value += Reals(op.bias).at(column);
    with_type_of(op.y,
                 [&]<class Y>(Y*) { put(value, op.y.as<Y>() + row * op.weight.rows() + column); });
  }

  template <int kRows, int kColumns>
  void multiply_columns(std::int64_t row, std::int64_t first, std::int64_t end) const {
    std::int64_t column = first;
    for (; column + kColumns <= end; column += kColumns)
      multiply<kRows, kColumns>(row, column);
    for (; column < end; ++column)
      multiply<kRows, 1>(row, column);
  }

  void run(Context& context) const {
    constexpr std::int64_t kColumns = 64;
    constexpr int kRows = 4;
    const std::int64_t columns = op.weight.rows();
    context.pool().parallel_for((columns + kColumns - 1) / kColumns, [&](std::int64_t task) {
      const std::int64_t first = task * kColumns;
      const std::int64_t end = std::min(columns, first + kColumns);
      std::int64_t row = 0;
      for (; row + kRows <= op.x.rows(); row += kRows)
        multiply_columns<kRows, 2>(row, first, end);
      for (; row < op.x.rows(); ++row)
        multiply_columns<1, 4>(row, first, end);
    });
  }
};

/// The numbers of neighbouring blocks.
template <BlockFormat kFormat, class T>
void read_blocks(const QuantisedMatrix& table, std::int64_t first, std::int64_t count, T* to) {
  constexpr std::int64_t kBytes = block_code_bytes(kFormat);
  for (std::int64_t block = first; block < first + count; ++block, to += kBlock) {
    const float scale = widened(F16{table.scales.as<std::uint16_t>()[block]});
    const std::uint8_t* codes = table.codes.as<std::uint8_t>() + block * kBytes;
    for (std::int64_t i = 0; i < kBytes; ++i) {
      if constexpr (kFormat == BlockFormat::q8_0) {
        put(scale * static_cast<float>(static_cast<std::int8_t>(codes[i])), to + i);
      } else {
        put(scale * static_cast<float>((codes[i] & 15) - 8), to + i);
        put(scale * static_cast<float>((codes[i] >> 4) - 8), to + kBytes + i);
      }
    }
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

}  // namespace

void quantised_linear_for_target(Context& context, const QuantisedLinear& op) {
  const CodedRows coded(op.scratch, op.x.rows(), op.weight.row_elements());
  with_type_of(op.x, [&]<class X>(X*) { encode_rows<X>(context, op.x, coded); });
  with_format(op.weight.format, [&](auto format) { Multiplier<format>{op, coded}.run(context); });
}

void quantised_embedding_for_target(Context& context, const QuantisedEmbedding& op) {
  const std::int64_t width = op.out.row_elements();
  with_format(op.table.format, [&](auto format) {
    with_type_of(op.out, [&]<class T>(T*) {
      for_each_row(context, op.out.rows(), [&](std::int64_t row) {
        const std::int64_t blocks = width / kBlock;
        read_blocks<format>(op.table, op.tokens.as<std::int32_t>()[row] * blocks, blocks,
                            op.out.as<T>() + row * width);
      });
    });
  });
}

void widen_columns_for_target(Context& context, const QuantisedMatrix& weight, std::int64_t first,
                              const Tensor& to) {
  const std::int64_t columns = to.row_elements();
  with_format(weight.format, [&](auto format) {
    for_each_row(context, to.rows(), [&](std::int64_t row) {
      const std::int64_t block = (row * weight.row_elements() + first) / kBlock;
      read_blocks<format>(weight, block, columns / kBlock, to.as<float>() + row * columns);
    });
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(quantised_linear_for_target);
HWY_EXPORT(quantised_embedding_for_target);
HWY_EXPORT(widen_columns_for_target);

void quantised_linear(Context& context, const QuantisedLinear& op) {
  HWY_DYNAMIC_DISPATCH(quantised_linear_for_target)(context, op);
}

void quantised_embedding(Context& context, const QuantisedEmbedding& op) {
  HWY_DYNAMIC_DISPATCH(quantised_embedding_for_target)(context, op);
}

void quantised_linear_backward(Context& context, const QuantisedLinearBackward& op) {
  const std::int64_t in = op.weight.row_elements();
  const std::int64_t out = op.weight.rows();
  for (std::int64_t first = 0; first < in; first += kWidenedColumns) {
    const std::int64_t columns = std::min(kWidenedColumns, in - first);
    const Tensor widened{op.scratch.data, DType::f32, {out, columns}};
    HWY_DYNAMIC_DISPATCH(widen_columns_for_target)(context, op.weight, first, widened);
    multiply(context, {.rows = op.d_y.rows(),
                       .columns = columns,
                       .depth = out,
                       .a = {op.d_y, out},
                       .b = {widened, columns},
                       .c = Reals(op.d_x).from(first),
                       .c_stride = in});
  }
}

}  // namespace athanor::cpu
#endif
