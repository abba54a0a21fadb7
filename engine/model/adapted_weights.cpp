// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/adapted_weights.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/quantised_blocks.h"

namespace athanor {

AdaptedWeights::AdaptedWeights(const ModelConfig& model, const LoraConfig& lora,
                               const WeightSource& base, const WeightSource& adapters)
    : lora_(lora), base_(base), name_(adapters.name()) {
  const ParameterTable table(model);
  const AdapterTable beside(model, lora);
  parameters_ = table.all();
  addends_.resize(parameters_.size());
  const auto read = [&](int index) {
    const Shape& shape = beside.all()[static_cast<std::size_t>(index)].shape;
    std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
    adapters.read(index, 0, numbers);
    return numbers;
  };
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (const Adapter& adapter : beside.of_layer(layer)) {
      const int weight = table.layer(layer).weight(adapter.product);
      Addend addend{.first_row = adapter.first_row,
                    .rows = beside.all()[static_cast<std::size_t>(adapter.b)].shape[0],
                    .a = read(adapter.a),
                    .b = read(adapter.b)};
      for (float& number : addend.b)
        number = static_cast<float>(number * lora.scale());
      addends_[static_cast<std::size_t>(weight)].push_back(std::move(addend));
    }
  }
}

void AdaptedWeights::round_row(bool in_blocks, std::span<float> row) const {
  if (lora_.base == FrozenStorage::f32) return;
  if (!in_blocks) {
    for (float& number : row)
      number = widened(nearest_bf16(number));
    return;
  }
  const BlockFormat format =
      lora_.base == FrozenStorage::q8_0 ? BlockFormat::q8_0 : BlockFormat::q4_0;
  std::vector<std::byte> blocks(static_cast<std::size_t>(block_row_bytes(format, std::ssize(row))));
  if (!quantise_row(format, row, blocks)) {
    throw Error(ErrorKind::damaged,
                base_.name() +
                    " has numbers that are infinite, none at all, or too large to be kept in few "
                    "bits, as they were when the adapter was trained. Use an earlier checkpoint.");
  }
  dequantise_row(format, blocks, row);
}

void AdaptedWeights::add_to_row(const Addend& addend, std::int64_t row, std::span<float> to) const {
  const auto rank = static_cast<std::size_t>(lora_.rank);
  const float* b = addend.b.data() + static_cast<std::size_t>(row - addend.first_row) * rank;
  for (std::size_t i = 0; i < to.size(); ++i) {
    double sum = to[i];
    for (std::size_t r = 0; r < rank; ++r)
      sum += double{b[r]} * addend.a[r * to.size() + i];
    to[i] = static_cast<float>(sum);
  }
}

void AdaptedWeights::read(int parameter, std::int64_t first, std::span<float> to) const {
  const Parameter& of = parameters_[static_cast<std::size_t>(parameter)];
  const std::int64_t width = of.shape.rank() == 2 ? of.shape[1] : of.shape.elements();
  const bool blocks_wanted = lora_.base == FrozenStorage::q8_0 || lora_.base == FrozenStorage::q4_0;
  const bool in_blocks = blocks_wanted && !of.matrix_rows.empty() && is_whole_blocks(width);
  std::vector<float> whole(static_cast<std::size_t>(width));
  const std::int64_t end = first + std::ssize(to);
  for (std::int64_t row = first / width; row * width < end; ++row) {
    base_.read(parameter, row * width, whole);
    round_row(in_blocks, whole);
    for (const Addend& addend : addends_[static_cast<std::size_t>(parameter)]) {
      if (row >= addend.first_row && row < addend.first_row + addend.rows)
        add_to_row(addend, row, whole);
    }
    const std::int64_t from = std::max(first, row * width);
    const std::int64_t until = std::min(end, (row + 1) * width);
    std::copy_n(whole.begin() + (from - row * width), until - from, to.begin() + (from - first));
  }
}

}  // namespace athanor
