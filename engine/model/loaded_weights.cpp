// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/loaded_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/tensor/bf16.h"

namespace athanor {
namespace {

std::optional<BlockFormat> block_format(WeightFormat format, bool vocabulary) {
  if (format == WeightFormat::as_saved) return {};
  const bool four_bits = format == WeightFormat::q4_0 && !vocabulary;
  return four_bits ? BlockFormat::q4_0 : BlockFormat::q8_0;
}

QuantisedMatrix take_blocks(BlockFormat format, const Parameter& parameter, Arena& arena) {
  const std::int64_t rows = parameter.shape[0];
  const std::int64_t blocks = parameter.shape[1] / kBlock_elements;
  const auto take = [&](DType type, std::int64_t width, const char* what) {
    return arena.take(MemoryRole::weights, type, {rows, width}, {what});
  };
  return {.format = format,
          .codes = take(DType::u8, blocks * block_code_bytes(format), "quantised weights"),
          .scales = take(DType::u16, blocks, "scales of quantised weights")};
}

/// Calls `take(first, numbers)` for a parameter's numbers, whole rows at a time, so that loading
/// takes little beside the model.
template <class Take>
void read_rows(const WeightSource& source, int parameter, const Shape& shape, const Take& take) {
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  const std::int64_t row = shape.rank() == 2 ? shape[1] : 1;
  const std::int64_t most = std::max<std::int64_t>(1, kElements / row) * row;
  std::vector<float> numbers;
  for (std::int64_t first = 0; first < shape.elements(); first += most) {
    numbers.resize(static_cast<std::size_t>(std::min(most, shape.elements() - first)));
    source.read(parameter, first, numbers);
    take(first, std::span<const float>(numbers));
  }
}

/// False when a number cannot be quantised.
bool upload_blocks(const WeightSource& source, int parameter, const Shape& shape,
                   const QuantisedMatrix& to, Backend& backend) {
  std::vector<std::byte> blocks;
  bool good = true;
  read_rows(source, parameter, shape, [&](std::int64_t first, std::span<const float> numbers) {
    const std::int64_t row = first / shape[1];
    const std::int64_t count = std::ssize(numbers) / shape[1];
    const Tensor codes_place = to.codes.slice_rows(row, count);
    const Tensor scales_place = to.scales.slice_rows(row, count);
    blocks.resize(static_cast<std::size_t>(block_row_bytes(to.format, std::ssize(numbers))));
    std::vector<std::byte> codes(static_cast<std::size_t>(codes_place.bytes()));
    std::vector<std::uint16_t> scales(static_cast<std::size_t>(scales_place.elements()));
    good = good && quantise_row(to.format, numbers, blocks);
    if (!good) return;
    split_blocks(to.format, blocks, codes, scales);
    backend.upload(codes_place, codes);
    backend.upload(scales_place, std::as_bytes(std::span(scales)));
  });
  return good;
}

}  // namespace

void upload_numbers(const WeightSource& source, int parameter, const Tensor& to, Backend& backend) {
  const Tensor flat = to.reshaped({to.elements()});
  std::vector<Bf16> halves;
  read_rows(source, parameter, to.shape, [&](std::int64_t first, std::span<const float> numbers) {
    const Tensor place = flat.slice_rows(first, std::ssize(numbers));
    if (to.dtype == DType::f32) return backend.upload(place, std::as_bytes(numbers));
    if (to.dtype == DType::f64) {
      const std::vector<double> wide(numbers.begin(), numbers.end());
      return backend.upload(place, std::as_bytes(std::span(wide)));
    }
    halves.resize(numbers.size());
    std::ranges::transform(numbers, halves.begin(), nearest_bf16);
    backend.upload(place, std::as_bytes(std::span(halves)));
  });
}

LoadedWeights::LoadedWeights(const ParameterTable& table, WeightFormat format, DType numbers,
                             Arena& arena, VocabularyFormat vocabulary_format)
    : parameters_(table.all()) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const int id = static_cast<int>(i);
    const bool vocabulary = id == table.embedding() || id == table.head();
    std::optional<BlockFormat> blocks = block_format(format, vocabulary);
    if (vocabulary && vocabulary_format == VocabularyFormat::numbers) blocks.reset();
    const bool matrix = blocks && parameter.shape.rank() == 2;
    if (matrix && is_whole_blocks(parameter.shape[1])) {
      places_.push_back({.numbers = {}, .blocks = take_blocks(*blocks, parameter, arena)});
      continue;
    }
    if (matrix) ++unquantised_;
    places_.push_back(
        {.numbers = arena.take(MemoryRole::weights, numbers, parameter.shape, {"weights"}),
         .blocks = {}});
  }
}

void LoadedWeights::load(const WeightSource& source, Backend& backend) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const int id = static_cast<int>(i);
    const PlacedParameter& place = places_[i];
    if (place.numbers.present()) {
      upload_numbers(source, id, place.numbers, backend);
    } else if (!upload_blocks(source, id, parameter.shape, place.blocks, backend)) {
      throw Error(
          ErrorKind::damaged,
          fmt::format("{}: the tensor {} has numbers that are infinite, none at all, or too "
                      "large to be kept in few bits. Choose the weights as saved, or an "
                      "earlier checkpoint.",
                      source.name(), parameter.name));
    }
  }
}

}  // namespace athanor
