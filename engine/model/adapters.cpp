// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/error.h"

namespace athanor {
namespace {

/// Where a target lies in its block, and the extents of its matrix.
struct TargetPlace {
  BlockProduct product;
  std::int64_t first_row;
  std::int64_t out;
  std::int64_t in;
};

/// Nothing for the gate of an MLP without one.
std::optional<TargetPlace> place_of(LoraTarget target, const ModelConfig& model) {
  const AttentionShape shape = model.attention_shape(1);
  const std::int64_t q = shape.query_width();
  const std::int64_t k = shape.key_width();
  switch (target) {
    case LoraTarget::q:
      return TargetPlace{BlockProduct::qkv, 0, q, model.width};
    case LoraTarget::k:
      return TargetPlace{BlockProduct::qkv, q, k, model.width};
    case LoraTarget::v:
      return TargetPlace{BlockProduct::qkv, q + k, k, model.width};
    case LoraTarget::o:
      return TargetPlace{BlockProduct::attention_out, 0, model.width, q};
    case LoraTarget::gate:
      if (!model.gated()) return {};
      return TargetPlace{BlockProduct::up, 0, model.ffn, model.width};
    case LoraTarget::up:
      return TargetPlace{BlockProduct::up, model.gated() ? model.ffn : 0, model.ffn, model.width};
    case LoraTarget::down:
      break;
  }
  return TargetPlace{BlockProduct::down, 0, model.width, model.ffn};
}

}  // namespace

std::vector<LoraTarget> lora_targets(const LoraConfig& config) {
  constexpr auto kNames = names_of(LoraTarget());
  std::vector<bool> chosen(kNames.size());
  std::string_view rest = config.targets;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("train.lora_targets must be a list of {} with commas between them; "
                              "\"{}\" is none of them.",
                              choices_text(kNames), name));
    }
    chosen[static_cast<std::size_t>(found - kNames.begin())] = true;
  }
  std::vector<LoraTarget> targets;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) targets.push_back(static_cast<LoraTarget>(i));
  return targets;
}

AdapterTable::AdapterTable(const ModelConfig& model, const LoraConfig& lora) {
  using Start = Parameter::Start;
  if (!lora.on()) return;
  const std::vector<LoraTarget> targets = lora_targets(lora);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (const LoraTarget target : targets) {
      const std::optional<TargetPlace> at = place_of(target, model);
      if (!at) continue;
      // The deviation of uniform numbers within 1/√in, from which adapters usually start. b starts
      // at zero, so that the model does not change.
      const double deviation = 1 / std::sqrt(3 * static_cast<double>(at->in));
      Adapter adapter{.target = target, .product = at->product, .first_row = at->first_row};
      const std::string name =
          fmt::format("layers.{}.{}", layer, names_of(target)[static_cast<std::size_t>(target)]);
      adapter.a = add_matrices(name + ".a", {lora.rank}, at->in, Start::normal, deviation);
      adapter.b = add_matrices(name + ".b", {at->out}, lora.rank, Start::zeros, 0);
      adapters_.push_back(adapter);
    }
  }
  in_layer_ = static_cast<std::int64_t>(adapters_.size()) / model.layers;
}

ParameterRange AdapterTable::range_of_layer(std::int64_t index) const {
  const std::span<const Adapter> adapters = of_layer(index);
  const ParameterRange last = range_of(adapters.back().b);
  const std::int64_t offset = range_of(adapters.front().a).offset;
  return {offset, last.offset + last.elements - offset};
}

std::string AdapterTable::name_of(const Adapter& adapter) const {
  const std::string& name = all()[static_cast<std::size_t>(adapter.a)].name;
  return name.substr(0, name.size() - 2);
}

}  // namespace athanor
