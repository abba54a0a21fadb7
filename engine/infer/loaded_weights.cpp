// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/loaded_weights.h"

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

std::vector<Bf16> rounded(std::span<const float> values) {
  std::vector<Bf16> halves(values.size());
  std::ranges::transform(values, halves.begin(), nearest_bf16);
  return halves;
}

std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> floats(static_cast<std::size_t>(tensor.elements()));
  if (tensor.dtype == DType::bf16) {
    std::ranges::transform(tensor.span<Bf16>(), floats.begin(),
                           [](Bf16 value) { return widened(value); });
  } else {
    std::ranges::copy(tensor.span<float>(), floats.begin());
  }
  return floats;
}

void upload_numbers(const Tensor& from, const Tensor& to, Backend& backend) {
  if (from.dtype == to.dtype) {
    backend.upload(to, from.byte_span());
  } else if (to.dtype == DType::bf16) {
    const std::vector<Bf16> halves = rounded(from.span<const float>());
    backend.upload(to, std::as_bytes(std::span(halves)));
  } else {
    const std::vector<float> floats = floats_of(from);
    backend.upload(to, std::as_bytes(std::span(floats)));
  }
}

/// False when a number cannot be quantised. Some rows at a time, so that loading takes little
/// beside the model.
bool upload_blocks(const Tensor& from, const QuantisedMatrix& to, Backend& backend) {
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  const std::int64_t most_rows = std::max<std::int64_t>(1, kElements / from.row_elements());
  for (std::int64_t row = 0; row < from.rows(); row += most_rows) {
    const std::int64_t count = std::min(most_rows, from.rows() - row);
    const std::vector<float> numbers = floats_of(from.slice_rows(row, count));
    const Tensor codes_place = to.codes.slice_rows(row, count);
    const Tensor scales_place = to.scales.slice_rows(row, count);
    std::vector<std::byte> blocks(
        static_cast<std::size_t>(block_row_bytes(to.format, std::ssize(numbers))));
    std::vector<std::byte> codes(static_cast<std::size_t>(codes_place.bytes()));
    std::vector<std::uint16_t> scales(static_cast<std::size_t>(scales_place.elements()));
    if (!quantise_row(to.format, numbers, blocks)) return false;
    split_blocks(to.format, blocks, codes, scales);
    backend.upload(codes_place, codes);
    backend.upload(scales_place, std::as_bytes(std::span(scales)));
  }
  return true;
}

}  // namespace

LoadedWeights::LoadedWeights(const ParameterTable& table, WeightFormat format, DType numbers,
                             Arena& arena)
    : parameters_(table.all()) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const int id = static_cast<int>(i);
    const bool vocabulary = id == table.embedding() || id == table.head();
    const std::optional<BlockFormat> blocks = block_format(format, vocabulary);
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

void LoadedWeights::load(const SafetensorsFile& file, DType stored, Backend& backend) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const Tensor source = file.find(parameter.name, stored, parameter.shape);
    const PlacedParameter& place = places_[i];
    if (place.numbers.present()) {
      upload_numbers(source, place.numbers, backend);
    } else if (!upload_blocks(source, place.blocks, backend)) {
      throw Error(
          ErrorKind::damaged,
          fmt::format("{}: the tensor {} has numbers that are infinite, none at all, or too "
                      "large to be kept in few bits. Choose the weights as saved, or an "
                      "earlier checkpoint.",
                      file.path().string(), parameter.name));
    }
  }
}

}  // namespace athanor
