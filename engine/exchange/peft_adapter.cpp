// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/peft_adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "engine/base/atomic_folder.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/io/safetensors.h"
#include "engine/tensor/bf16.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "adapter_config.json";
constexpr const char* kWeights = "adapter_model.safetensors";

/// The modules of transformers' Llama and its relatives, by LoraTarget.
constexpr std::array<std::string_view, kLoraTargets> kModules = {
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

std::string_view module_of(LoraTarget target) {
  return kModules[static_cast<std::size_t>(target)];
}

/// 'A' or 'B' of an adapter.
std::string tensor_name(std::int64_t layer, LoraTarget target, char side) {
  const bool attention = target <= LoraTarget::o;
  return fmt::format("base_model.model.model.layers.{}.{}.{}.lora_{}.weight", layer,
                     attention ? "self_attn" : "mlp", module_of(target), side);
}

struct NamedParameter {
  std::string name;
  int index;
};

std::vector<NamedParameter> named_parameters(const ModelConfig& model, const AdapterTable& table) {
  std::vector<NamedParameter> named;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (const Adapter& adapter : table.of_layer(layer)) {
      named.push_back({tensor_name(layer, adapter.target, 'A'), adapter.a});
      named.push_back({tensor_name(layer, adapter.target, 'B'), adapter.b});
    }
  }
  return named;
}

[[noreturn]] void refuse(const fs::path& file, const std::string& what, ErrorKind kind) {
  throw Error(kind, fmt::format("{}: {}", file.string(), what));
}

/// The targets by the modules' names, without what is before their last dot.
std::string targets_of(const Json& config, const fs::path& file) {
  const Json modules = config.value("target_modules", Json());
  if (modules == "all-linear") return LoraConfig().targets;
  if (!modules.is_array())
    refuse(file, "target_modules is no list of modules. Train the adapter with one.",
           ErrorKind::unsupported);
  std::string targets;
  for (const Json& module : modules) {
    const std::string name = module.is_string() ? module.get<std::string>() : module.dump();
    const std::string last = name.substr(name.rfind('.') + 1);
    const auto found = std::ranges::find(kModules, last);
    if (found == kModules.end()) {
      refuse(file,
             fmt::format("target_modules has {}, which adapters are not trained beside here: only "
                         "{} are.",
                         name, choices_text(kModules)),
             ErrorKind::unsupported);
    }
    const auto target = static_cast<std::size_t>(found - kModules.begin());
    if (!targets.empty()) targets += ',';
    targets += names_of(LoraTarget())[target];
  }
  return targets;
}

bool is_empty(const Json& value) {
  return value.is_null() || value == false || value == "none" ||
         ((value.is_array() || value.is_object()) && value.empty());
}

LoraConfig read_config(const fs::path& file) {
  const Json config = read_json_file(file);
  if (!config.is_object() || config.value("peft_type", Json()) != "LORA") {
    refuse(file, "it is no LoRA adapter of PEFT: peft_type is not LORA.", ErrorKind::unsupported);
  }
  for (const char* variant :
       {"use_dora", "use_qalora", "alora_invocation_tokens", "rank_pattern", "alpha_pattern",
        "modules_to_save", "bias", "layers_to_transform", "layer_replication", "fan_in_fan_out",
        "lora_bias", "trainable_token_indices", "target_parameters", "exclude_modules"}) {
    if (const Json value = config.value(variant, Json()); !is_empty(value)) {
      refuse(file,
             fmt::format("{} is {}, which is not computed here. Train the adapter without it.",
                         variant, value.dump()),
             ErrorKind::unsupported);
    }
  }
  LoraConfig lora;
  const Json rank = config.value("r", Json());
  const Json alpha = config.value("lora_alpha", Json());
  if (!rank.is_number_integer() || !alpha.is_number())
    refuse(file, "r or lora_alpha is missing. Get the adapter again.", ErrorKind::damaged);
  lora.rank = rank.get<std::int64_t>();
  lora.alpha = alpha.get<double>();
  lora.rs_lora = config.value("use_rslora", Json()) == true;
  const Json dropout = config.value("lora_dropout", Json());
  if (dropout.is_number()) lora.dropout = dropout.get<double>();
  lora.targets = targets_of(config, file);
  try {
    check_settings(lora, "");
  } catch (const Error& error) {
    refuse(file, error.message(), ErrorKind::damaged);
  }
  if (!lora.on()) refuse(file, "r must be above 0. Get the adapter again.", ErrorKind::damaged);
  return lora;
}

std::vector<float> read_numbers(const NamedTensor& entry, const fs::path& file) {
  const Tensor& tensor = entry.tensor;
  std::vector<float> numbers(static_cast<std::size_t>(tensor.elements()));
  if (tensor.dtype == DType::f32) {
    std::ranges::copy(tensor.span<const float>(), numbers.begin());
  } else if (tensor.dtype == DType::bf16) {
    std::ranges::transform(tensor.span<const Bf16>(), numbers.begin(),
                           [](Bf16 x) { return widened(x); });
  } else {
    refuse(
        file,
        fmt::format("the tensor {} is neither F32 nor BF16. Save the adapter as one.", entry.name),
        ErrorKind::unsupported);
  }
  if (!std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); })) {
    refuse(
        file,
        fmt::format("the tensor {} has numbers that are infinite or none. Get the adapter again.",
                    entry.name),
        ErrorKind::damaged);
  }
  return numbers;
}

const NamedTensor& find_tensor(const SafetensorsFile& file, const std::string& name,
                               const Shape& shape) {
  const auto found = std::ranges::find(file.tensors(), name, &NamedTensor::name);
  if (found == file.tensors().end()) {
    refuse(file.path(),
           fmt::format("the tensor {} is missing: the adapter is for another model, or cut off.",
                       name),
           ErrorKind::damaged);
  }
  if (found->tensor.shape != shape) {
    refuse(file.path(),
           fmt::format("the tensor {} is {}, but beside this model it must be {}: the adapter is "
                       "for a model of another shape. Choose the one that it was trained beside.",
                       name, found->tensor.shape.text(), shape.text()),
           ErrorKind::damaged);
  }
  return *found;
}

}  // namespace

void write_peft_adapter(const ModelConfig& model, const LoraConfig& lora,
                        const WeightSource& adapters, const std::string& base,
                        const fs::path& folder) {
  const AdapterTable table(model, lora);
  std::vector<NamedTensor> tensors;
  std::vector<std::vector<float>> numbers;
  for (const auto& [name, index] : named_parameters(model, table)) {
    const Shape& shape = table.all()[static_cast<std::size_t>(index)].shape;
    numbers.emplace_back(static_cast<std::size_t>(shape.elements()));
    adapters.read(index, 0, numbers.back());
    tensors.push_back(
        {name, {reinterpret_cast<std::byte*>(numbers.back().data()), DType::f32, shape}});
  }
  Json modules = Json::array();
  for (const LoraTarget target : lora_targets(lora)) {
    if (target != LoraTarget::gate || model.gated()) modules.push_back(module_of(target));
  }
  const Json config{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"base_model_name_or_path", base},
                    {"r", lora.rank},
                    {"lora_alpha", lora.alpha},
                    {"use_rslora", lora.rs_lora},
                    {"lora_dropout", lora.dropout},
                    {"target_modules", modules},
                    {"bias", "none"},
                    {"fan_in_fan_out", false},
                    {"inference_mode", true}};
  constexpr std::int64_t kBeside_bytes = 1 << 20;
  AtomicFolder made(folder, table.count() * size_of(DType::f32) + kBeside_bytes);
  write_safetensors(made.path() / kWeights, tensors, {{"format", "pt"}});
  write_file_atomically(made.path() / kConfig, config.dump(2) + "\n");
  made.commit();
}

PeftAdapter read_peft_adapter(const fs::path& folder, const ModelConfig& model) {
  PeftAdapter read{.lora = read_config(folder / kConfig), .parameters = {}};
  const SafetensorsFile file = SafetensorsFile::open(folder / kWeights);
  const AdapterTable table(model, read.lora);
  read.parameters.resize(table.all().size());
  std::set<std::string> known;
  for (const auto& [name, index] : named_parameters(model, table)) {
    const NamedTensor& entry =
        find_tensor(file, name, table.all()[static_cast<std::size_t>(index)].shape);
    read.parameters[static_cast<std::size_t>(index)] = read_numbers(entry, file.path());
    known.insert(name);
  }
  for (const NamedTensor& entry : file.tensors()) {
    if (known.contains(entry.name)) continue;
    refuse(file.path(),
           fmt::format("the tensor {} has no place beside this model: the adapter is for another.",
                       entry.name),
           ErrorKind::damaged);
  }
  return read;
}

}  // namespace athanor
