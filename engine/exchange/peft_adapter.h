// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/io/weight_source.h"
#include "engine/model/adapters.h"

namespace athanor {

/// Writes adapters as PEFT's LoraModel reads them (https://huggingface.co/docs/peft): a new folder
/// with adapter_config.json and adapter_model.safetensors, in which every matrix is an FP32 tensor
/// "base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight". `base` names the model.
void write_peft_adapter(const ModelConfig& model, const LoraConfig& lora,
                        const WeightSource& adapters, const std::string& base,
                        const std::filesystem::path& folder);

/// Adapters in the order of an AdapterTable.
struct PeftAdapter {
  LoraConfig lora;
  std::vector<std::vector<float>> parameters;
};

/// Reads what PEFT wrote, for a model of this shape. Throws not_found for a folder without the
/// files, damaged naming the file and the tensor that is missing, of another shape, not finite or
/// not known, and unsupported naming what LoRA variants are not computed here (DoRA, ranks that
/// differ by layer, trained biases or whole modules).
PeftAdapter read_peft_adapter(const std::filesystem::path& folder, const ModelConfig& model);

}  // namespace athanor
