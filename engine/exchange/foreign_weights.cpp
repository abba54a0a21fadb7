// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/foreign_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/tensor/bf16.h"

namespace athanor {

namespace {

/// What older programs saved beside the weights, though it follows from the settings; and the head
/// that a tied model shares with its embedding.
bool is_spare(const std::string& name, bool tied) {
  return name.ends_with(".rotary_emb.inv_freq") ||
         (tied && (name == "lm_head.weight" || name == "output.weight"));
}

bool is_bf16_exactly(std::span<const float> numbers) {
  return std::ranges::all_of(
      numbers, [](float x) { return (std::bit_cast<std::uint32_t>(x) & 0xFFFFU) == 0; });
}

}  // namespace

ForeignWeights::ForeignWeights(StoredModel stored, const ModelConfig& model,
                               Architecture architecture)
    : stored_(std::move(stored)), table_(model), sources_(table_.all().size()) {
  std::unordered_map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : stored_.tensors) {
    if (by_name.emplace(tensor.name, &tensor).second) continue;
    throw Error(ErrorKind::damaged, fmt::format("{} has the tensor {} twice. Get the model again.",
                                                stored_.path.string(), tensor.name.substr(0, 80)));
  }
  for (ForeignTensor& tensor : foreign_tensors(model, table_, architecture, stored_.kind))
    add(std::move(tensor), by_name);
  check_leftovers(model, architecture);
  type_ = smallest_type();
}

void ForeignWeights::add(ForeignTensor tensor,
                         const std::unordered_map<std::string_view, const StoredTensor*>& stored) {
  const auto found = stored.find(tensor.name);
  if (found == stored.end()) {
    throw Error(ErrorKind::damaged,
                fmt::format("{} has no tensor {}, which its settings ask for. Get the model again.",
                            stored_.path.string(), tensor.name));
  }
  const StoredTensor& source = *found->second;
  if (source.shape != tensor.shape) {
    throw Error(
        ErrorKind::damaged,
        fmt::format("{}: the tensor {} has the shape {}, but its settings ask for {}. Get "
                    "the model again.",
                    stored_.path.string(), tensor.name, source.shape.text(), tensor.shape.text()));
  }
  if (!source.format) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} stores {} as {}, which cannot be read. Get the model in another "
                            "format, such as F16, BF16 or Q8_0.",
                            stored_.path.string(), tensor.name, source.type));
  }
  const auto parameter = static_cast<std::size_t>(tensor.parameter);
  sources_[parameter].push_back({std::move(tensor), &source});
}

void ForeignWeights::check_leftovers(const ModelConfig& model, Architecture architecture) const {
  std::unordered_set<std::string_view> used;
  for (const std::vector<Source>& parts : sources_) {
    for (const Source& part : parts)
      used.insert(part.tensor.name);
  }
  for (const StoredTensor& tensor : stored_.tensors) {
    if (used.contains(tensor.name) || is_spare(tensor.name, model.tied)) continue;
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{} has the tensor {}, for which a model of the kind {} with its "
                    "settings has no place. This model cannot be imported.",
                    stored_.path.string(), tensor.name.substr(0, 80), name_of(architecture)));
  }
}

DType ForeignWeights::smallest_type() const {
  // Files of BF16 often have norms and biases as F32, of the same few digits.
  std::vector<float> numbers;
  for (std::size_t parameter = 0; parameter < sources_.size(); ++parameter) {
    for (const Source& part : sources_[parameter]) {
      if (part.stored->format == NumberFormat::bf16) continue;
      if (part.tensor.shape.rank() != 1) return DType::f32;
      numbers.resize(static_cast<std::size_t>(part.tensor.shape.elements()));
      read(static_cast<int>(parameter), part.tensor.first, numbers);
      if (!is_bf16_exactly(numbers)) return DType::f32;
    }
  }
  return DType::bf16;
}

void ForeignWeights::read(int parameter, std::int64_t first, std::span<float> to) const {
  for (const Source& source : sources_[static_cast<std::size_t>(parameter)])
    read_overlap(source, first, to);
}

void ForeignWeights::read_overlap(const Source& source, std::int64_t first,
                                  std::span<float> to) const {
  const ForeignTensor& tensor = source.tensor;
  const std::int64_t row_elements = tensor.row_elements();
  const std::int64_t begin = std::max(first, tensor.first) - tensor.first;
  const std::int64_t end = std::min(first + static_cast<std::int64_t>(to.size()),
                                    tensor.first + tensor.shape.elements()) -
                           tensor.first;
  const auto stored_bytes =
      static_cast<std::size_t>(row_bytes(*source.stored->format, row_elements));
  std::vector<float> numbers(static_cast<std::size_t>(row_elements));
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at / row_elements;
    const auto place = static_cast<std::size_t>(tensor.foreign_row(row));
    widen(*source.stored->format, source.stored->data.subspan(place * stored_bytes, stored_bytes),
          numbers);
    const std::int64_t within = at % row_elements;
    const std::int64_t count = std::min(row_elements - within, end - at);
    const auto part = std::span(numbers).subspan(static_cast<std::size_t>(within),
                                                 static_cast<std::size_t>(count));
    if (!std::ranges::all_of(part, [](float x) { return std::isfinite(x); })) {
      throw Error(ErrorKind::damaged,
                  fmt::format("{}: the tensor {} has values that are not numbers, in row {}. Get "
                              "the model again.",
                              stored_.path.string(), tensor.name, place));
    }
    std::ranges::copy(part, to.begin() + (tensor.first + at - first));
    at += count;
  }
}

}  // namespace athanor
