// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/settings.h"

namespace athanor {

/// The matrices of a layer that an adapter can stand beside; `up` is also an ungated MLP's first.
enum class LoraTarget { q, k, v, o, gate, up, down };
constexpr std::array<std::string_view, 7> names_of(LoraTarget) {
  return {"q", "k", "v", "o", "gate", "up", "down"};
}
inline constexpr std::int64_t kLoraTargets = 7;

/// In what frozen weights lie. In blocks only the layers' matrices are, and of these only those
/// whose rows are whole blocks; the rest is BF16 then.
enum class FrozenStorage { f32, bf16, q8_0, q4_0 };
constexpr std::array<std::string_view, 4> names_of(FrozenStorage) {
  return {"f32", "bf16", "q8_0", "q4_0"};
}

/// Training of a low-rank adapter b · a beside each chosen matrix, which stays as it is (LoRA: Hu
/// et al., 2021; on quantised matrices QLoRA: Dettmers et al., 2023).
struct LoraConfig {
  std::int64_t rank = 0;  ///< 0: no adapters, all of the model is trained
  double alpha = 16;
  bool rs_lora =
      false;  ///< adapters count alpha / √rank instead of alpha / rank (Kalajdzievski, 2023)
  double dropout = 0;  ///< of what an adapter reads, while training
  std::string targets = "q,k,v,o,gate,up,down";
  FrozenStorage base = FrozenStorage::f32;

  bool on() const { return rank > 0; }
  /// What b · a is multiplied by.
  double scale() const {
    const auto of = static_cast<double>(rank);
    return rank == 0 ? 0 : alpha / (rs_lora ? std::sqrt(of) : of);
  }
};

/// Named as parts of the training settings.
template <class Visitor>
void visit_fields(LoraConfig& config, Visitor& visitor) {
  visitor("lora_rank", config.rank, Bounds{0, 1024});
  visitor("lora_alpha", config.alpha, Bounds{1e-6, 1e6});
  visitor("lora_rs", config.rs_lora);
  visitor("lora_dropout", config.dropout, Bounds{0, 0.9});
  visitor("lora_targets", config.targets);
  visitor("lora_base", config.base);
}

/// The chosen targets in order of their kind, each once. Throws invalid_argument naming what is
/// none.
std::vector<LoraTarget> lora_targets(const LoraConfig& config);

}  // namespace athanor
