// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/case_maker.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "engine/base/philox.h"
#include "tests/support/in_arena.h"

namespace athanor {

std::string extents(std::initializer_list<std::int64_t> sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

Tensor CaseMaker::random(Shape shape, double scale, double mean) {
  return random_tensor(arena_, DType::f64, shape, seed_++, scale, mean);
}

Tensor CaseMaker::space(Shape shape) {
  return zero_tensor(arena_, DType::f64, shape);
}

Tensor CaseMaker::positive(Shape shape, double scale) {
  const Tensor tensor = random(shape, scale);
  for (double& value : tensor.span<double>())
    value = std::abs(value);
  return tensor;
}

StoredWeights CaseMaker::stored_weights(std::int64_t count, double scale, Keeping keeping) {
  StoredWeights to{.weights = random({count}, scale), .master = {}, .low_bits = {}};
  if (keeping == Keeping::alone) return to;
  const Tensor numbers = to.weights;
  to.weights = zero_tensor(arena_, DType::bf16, {count});
  if (keeping == Keeping::master) to.master = numbers;
  if (keeping == Keeping::low_bits) to.low_bits = zero_tensor(arena_, DType::u16, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(value_at(numbers, i));
    set_value(numbers, i, number);
    const auto bits = std::bit_cast<std::uint32_t>(number);
    to.weights.as<std::uint16_t>()[i] = static_cast<std::uint16_t>((bits + 0x8000) >> 16);
    if (keeping == Keeping::low_bits) {
      to.low_bits.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits);
    }
  }
  return to;
}

Tensor CaseMaker::codes(std::int64_t count, std::uint32_t least) {
  const Tensor tensor = arena_.take(MemoryRole::workspace, DType::u8, {count});
  const Philox generator(seed_++, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t word = generator.word(static_cast<std::uint64_t>(i));
    tensor.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(least + word % (256 - least));
  }
  return tensor;
}

QuantisedMatrix CaseMaker::quantised(BlockFormat format, std::int64_t out, std::int64_t in,
                                     double scale) {
  const std::int64_t blocks = in / kBlock_elements;
  const auto take = [&](DType type, std::int64_t width) {
    return arena_.take(MemoryRole::workspace, type, {out, width});
  };
  const QuantisedMatrix matrix{.format = format,
                               .codes = take(DType::u8, blocks * block_code_bytes(format)),
                               .scales = take(DType::u16, blocks)};
  const Tensor numbers = random_tensor(arena_, DType::f32, {out, in}, seed_++, scale);
  std::vector<std::byte> bytes(static_cast<std::size_t>(block_row_bytes(format, out * in)));
  [[maybe_unused]] const bool held = quantise_row(format, numbers.span<float>(), bytes);
  split_blocks(format, bytes, matrix.codes.byte_span(), matrix.scales.span<std::uint16_t>());
  return matrix;
}

Tensor CaseMaker::tokens(std::int64_t count, std::int64_t vocabulary) {
  const Philox generator(seed_++, 0);
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t word = generator.word(static_cast<std::uint64_t>(i));
    // Half of the rows choose among a few tokens, as frequent words do.
    const auto range =
        static_cast<std::uint32_t>(i % 2 == 0 ? std::min<std::int64_t>(vocabulary, 3) : vocabulary);
    values.push_back(static_cast<std::int32_t>(word % range));
  }
  values.front() = static_cast<std::int32_t>(vocabulary - 1);
  values.back() = 0;
  return integer_tensor(arena_, values);
}

Tensor CaseMaker::targets(std::int64_t count, std::int64_t vocabulary, std::int64_t masked_every) {
  const Tensor targets = tokens(count, vocabulary);
  for (std::int64_t i = 0; masked_every > 0 && i < count; i += masked_every) {
    targets.as<std::int32_t>()[i] = -1;
  }
  return targets;
}

Tensor CaseMaker::document_starts(std::int64_t rows, std::int64_t sequence,
                                  std::int64_t documents) {
  const Philox generator(seed_++, 0);
  std::vector<std::int32_t> values;
  for (std::int64_t first = 0; first < rows; first += sequence) {
    std::vector<std::uint32_t> starts = {0};
    for (std::int64_t i = 1; i < documents; ++i) {
      const std::uint32_t word = generator.word(static_cast<std::uint64_t>(first + i));
      starts.push_back(word % static_cast<std::uint32_t>(sequence));
    }
    for (std::uint32_t row = 0; row < static_cast<std::uint32_t>(sequence); ++row) {
      std::uint32_t start = 0;
      for (const std::uint32_t candidate : starts) {
        if (candidate <= row) start = std::max(start, candidate);
      }
      values.push_back(static_cast<std::int32_t>(start));
    }
  }
  return integer_tensor(arena_, values);
}

Tensor CaseMaker::rope_table(std::int64_t positions, std::int64_t head_dim) {
  const Tensor table = space({positions, head_dim});
  const std::int64_t half = head_dim / 2;
  for (std::int64_t position = 0; position < positions; ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
      const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
      table.as<double>()[position * head_dim + i] = std::cos(angle);
      table.as<double>()[position * head_dim + half + i] = std::sin(angle);
    }
  }
  return table;
}

}  // namespace athanor
