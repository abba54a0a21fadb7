// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/lora_config.h"
#include "engine/model/parameters.h"

namespace athanor {

/// One adapter: to the rows of a block's matrix that are its target's, scale · b · a is added.
struct Adapter {
  LoraTarget target = LoraTarget::q;
  BlockProduct product = BlockProduct::qkv;
  int a = -1;                  ///< [r, in], in the table
  int b = -1;                  ///< [out, r]
  std::int64_t first_row = 0;  ///< of the block's matrix
};

/// The parameters of all adapters of a model: "layers.3.q.a", "layers.3.q.b" … Empty without.
class AdapterTable : public ParameterList {
 public:
  AdapterTable() = default;
  AdapterTable(const ModelConfig& model, const LoraConfig& lora);

  bool present() const { return !adapters_.empty(); }
  /// Those beside one layer's matrices.
  std::span<const Adapter> of_layer(std::int64_t index) const {
    return std::span(adapters_).subspan(static_cast<std::size_t>(index * in_layer_),
                                        static_cast<std::size_t>(in_layer_));
  }
  ParameterRange range_of_layer(std::int64_t index) const;
  /// The name of the adapter's matrix without ".a" or ".b".
  std::string name_of(const Adapter& adapter) const;

 private:
  std::vector<Adapter> adapters_;
  std::int64_t in_layer_ = 0;
};

}  // namespace athanor
