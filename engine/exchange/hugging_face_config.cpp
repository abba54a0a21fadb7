// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/hugging_face_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>
#include <set>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/exchange/settings_limits.h"

namespace athanor {

namespace {

/// Fields that do not change what the model computes from given tokens, or that merely repeat what
/// other files say.
constexpr std::array kHarmless = {"_attn_implementation_autoset",
                                  "_name_or_path",
                                  "add_cross_attention",
                                  "architectures",
                                  "attention_dropout",
                                  "bos_token_id",
                                  "chunk_size_feed_forward",
                                  "cross_attention_hidden_size",
                                  "decoder_start_token_id",
                                  "dtype",
                                  "eos_token_id",
                                  "id2label",
                                  "initializer_range",
                                  "is_decoder",
                                  "is_encoder_decoder",
                                  "is_llama_config",
                                  "keys_to_ignore_at_inference",
                                  "label2id",
                                  "max_window_layers",
                                  "output_attentions",
                                  "output_hidden_states",
                                  "pad_token_id",
                                  "prefix",
                                  "pretraining_tp",
                                  "problem_type",
                                  "pruned_heads",
                                  "return_dict",
                                  "sep_token_id",
                                  "tie_encoder_decoder",
                                  "tokenizer_class",
                                  "torch_dtype",
                                  "torchscript",
                                  "transformers.js_config",
                                  "transformers_version",
                                  "unsloth_version",
                                  "use_cache",
                                  "vocab_file"};

class ConfigReader {
 public:
  ConfigReader(const KeyedJson& config, const ForeignOptions& options, const std::string& place)
      : config_(config), options_(options), place_(place) {}

  ForeignSettings read() {
    if (!config_.is_object()) damaged("it is not a JSON object");
    read_kind();
    read_shape();
    read_activation();
    read_rotation();
    refuse_what_is_missing();
    note_unknown();
    const std::int64_t context = required("max_position_embeddings");
    finish_settings(made_, context, window(), options_, place_);
    return std::move(made_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(
        ErrorKind::damaged,
        fmt::format("{} does not describe a model: {}. Get the model again.", place_, what));
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be imported: {}. Choose another model.", place_, what));
  }

  /// Null for fields that are absent or null, which mean the same.
  const KeyedJson* find(const char* name) {
    known_.insert(name);
    const auto found = config_.find(name);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::int64_t> integer(const char* name) {
    const KeyedJson* const value = find(name);
    if (value == nullptr) return {};
    // Larger than any setting may be, and small enough to compute with.
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (!value->is_number_integer() || *value < 0 || *value > kMost) {
      damaged(fmt::format("its field {} is not a whole number that could be meant", name));
    }
    return value->get<std::int64_t>();
  }
  std::int64_t required(const char* name) {
    const std::optional<std::int64_t> value = integer(name);
    if (!value) damaged(fmt::format("its field {} is missing", name));
    return *value;
  }
  bool flag(const char* name) {
    const KeyedJson* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) damaged(fmt::format("its field {} is neither true nor false", name));
    return value->get<bool>();
  }
  double real_of(const KeyedJson& value, const std::string& name) const {
    if (!value.is_number()) damaged(fmt::format("its field {} is not a number", name));
    return value.get<double>();
  }
  double real(const char* name, double without) {
    const KeyedJson* const value = find(name);
    return value == nullptr ? without : real_of(*value, name);
  }

  bool is(Architecture architecture) const { return made_.architecture == architecture; }

  void read_kind() {
    const KeyedJson* const kind = find("model_type");
    if (kind == nullptr || !kind->is_string()) damaged("its field model_type is missing");
    const auto name = kind->get<std::string>();
    constexpr auto kNames = names_of(Architecture{});
    const auto* const found = std::ranges::find(kNames, name);
    if (found == kNames.end()) throw Error(ErrorKind::unsupported, unknown_kind(place_, name));
    made_.architecture = static_cast<Architecture>(found - kNames.begin());
  }

  void read_shape() {
    ModelConfig& model = made_.model;
    model.vocabulary = required("vocab_size");
    model.layers = required("num_hidden_layers");
    model.width = required("hidden_size");
    model.heads = required("num_attention_heads");
    model.kv_heads = integer("num_key_value_heads").value_or(model.heads);
    model.ffn = required("intermediate_size");
    model.tied = flag("tie_word_embeddings");
    model.norm_epsilon = real("rms_norm_eps", 1e-6);
    model.biases = flag("mlp_bias");
    model.qkv_biases = is(Architecture::qwen2);
    model.qk_norm = is(Architecture::qwen3);
    constexpr std::int64_t kQwen3_usual = 128;
    const std::int64_t share = model.heads > 0 ? model.width / model.heads : 0;
    const std::int64_t head_dim =
        integer("head_dim").value_or(is(Architecture::qwen3) ? kQwen3_usual : share);
    if (head_dim == 0) damaged("its heads have no elements");
    const bool equal_share = head_dim == share && model.width % model.heads == 0;
    model.head_size = equal_share ? 0 : head_dim;
  }

  void read_activation() {
    const KeyedJson* const value = find("hidden_act");
    const std::string name = value != nullptr && value->is_string()
                                 ? value->get<std::string>()
                                 : std::string(is(Architecture::arcee) ? "relu2" : "silu");
    if (!is(Architecture::arcee)) {
      if (name != "silu" && name != "swish") {
        unsupported(fmt::format("its hidden_act is \"{}\", and a gated MLP can only have silu here",
                                name.substr(0, 80)));
      }
      made_.model.activation = Activation::swiglu;
    } else if (name == "relu2") {
      made_.model.activation = Activation::relu2;
    } else if (name == "silu" || name == "swish") {
      made_.model.activation = Activation::silu;
    } else if (name == "gelu_pytorch_tanh" || name == "gelu_new") {
      made_.model.activation = Activation::gelu;
    } else {
      unsupported(
          fmt::format("its hidden_act is \"{}\"; relu2, silu and gelu_pytorch_tanh are "
                      "known here",
                      name.substr(0, 80)));
    }
  }

  /// Transformers 4 has rope_theta and rope_scaling, 5 has rope_parameters.
  void read_rotation() {
    made_.model.rope_base = real("rope_theta", 10000);
    for (const char* const name : {"rope_scaling", "rope_parameters"}) {
      const KeyedJson* const value = find(name);
      if (value == nullptr) continue;
      if (!value->is_object()) damaged(fmt::format("its field {} is not an object", name));
      for (const auto& [key, part] : value->items())
        read_rotation_part(name, key, part);
    }
  }

  void read_rotation_part(const char* field, const std::string& key, const KeyedJson& value) {
    if (key == "rope_theta") {
      made_.model.rope_base = real_of(value, std::string(field) + ".rope_theta");
    } else if (key == "rope_type" || key == "type") {
      if (value == "default") return;
      unsupported(
          fmt::format("its {} is of the type {}, and rotary positions that are scaled are "
                      "not known here",
                      field, value.dump().substr(0, 80)));
    } else if (key == "partial_rotary_factor") {
      if (real_of(value, key) == 1) return;
      unsupported("only a part of each head turns (partial_rotary_factor)");
    } else if (!value.is_null()) {
      unsupported(fmt::format("its {} has the field {}, which is not known here", field,
                              key.substr(0, 80)));
    }
  }

  void refuse_what_is_missing() {
    if (flag("attention_bias")) {
      unsupported("its attention has biases on all projections (attention_bias)");
    }
    if (made_.model.biases && !is(Architecture::llama) && !is(Architecture::arcee)) {
      unsupported("mlp_bias is set, which this kind of model does not have");
    }
    if (real("partial_rotary_factor", 1) != 1) {
      unsupported("only a part of each head turns (partial_rotary_factor)");
    }
    if (find("quantization_config") != nullptr) {
      unsupported(
          "its weights are quantised (quantization_config); get them as F16 or BF16, or "
          "as a GGUF file");
    }
    if (const KeyedJson* const types = find("layer_types")) {
      if (!types->is_array()) damaged("its field layer_types is not a list");
      for (const KeyedJson& type : *types) {
        if (type != "full_attention") {
          unsupported(
              fmt::format("it has layers of the kind {} (layer_types)", type.dump().substr(0, 80)));
        }
      }
    }
  }

  /// Of tokens that a token sees; 0: all. Qwen's counts only where its use is asked for.
  std::int64_t window() {
    const bool always = is(Architecture::mistral);
    const bool used = flag("use_sliding_window") || always;
    const std::optional<std::int64_t> tokens = integer("sliding_window");
    return used ? tokens.value_or(0) : 0;
  }

  void note_unknown() {
    known_.insert({"max_position_embeddings", "use_sliding_window", "sliding_window"});
    known_.insert(kHarmless.begin(), kHarmless.end());
    std::vector<std::string> unknown;
    for (const auto& [key, value] : config_.items()) {
      if (!known_.contains(key) && !value.is_null()) unknown.push_back(key.substr(0, 80));
    }
    if (unknown.empty()) return;
    constexpr std::size_t kMost = 10;
    if (unknown.size() > kMost) unknown.resize(kMost);
    made_.notices.push_back(
        fmt::format("{} has fields that are not known here and were not used: "
                    "{}.",
                    place_, fmt::join(unknown, ", ")));
  }

  const KeyedJson& config_;
  const ForeignOptions& options_;
  const std::string& place_;
  std::set<std::string> known_;
  ForeignSettings made_;
};

const char* class_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::llama:
      return "LlamaForCausalLM";
    case Architecture::mistral:
      return "MistralForCausalLM";
    case Architecture::qwen2:
      return "Qwen2ForCausalLM";
    case Architecture::qwen3:
      return "Qwen3ForCausalLM";
    case Architecture::arcee:
      break;
  }
  return "ArceeForCausalLM";
}

const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu_pytorch_tanh";
    case Activation::relu2:
      return "relu2";
    default:
      return "silu";
  }
}

}  // namespace

ForeignSettings read_hugging_face_config(const KeyedJson& config, const ForeignOptions& options,
                                         const std::string& place) {
  return ConfigReader(config, options, place).read();
}

Json hugging_face_config(const ModelConfig& model, Architecture architecture, DType type,
                         std::int32_t end_of_text, std::int32_t begin_of_text) {
  const char* const stored = type == DType::bf16 ? "bfloat16" : "float32";
  Json config{{"architectures", {class_of(architecture)}},
              {"model_type", name_of(architecture)},
              {"vocab_size", model.vocabulary},
              {"hidden_size", model.width},
              {"intermediate_size", model.ffn},
              {"num_hidden_layers", model.layers},
              {"num_attention_heads", model.heads},
              {"num_key_value_heads", model.kv_heads},
              {"head_dim", model.head_dim()},
              {"hidden_act", activation_name(model.activation)},
              {"max_position_embeddings", model.context},
              {"rms_norm_eps", model.norm_epsilon},
              {"rope_theta", model.rope_base},
              {"rope_scaling", nullptr},
              {"tie_word_embeddings", model.tied},
              {"attention_bias", false},
              {"attention_dropout", 0.0},
              {"mlp_bias", model.biases},
              {"use_cache", true},
              {"torch_dtype", stored},
              {"eos_token_id", end_of_text}};
  if (architecture == Architecture::qwen2 || architecture == Architecture::qwen3) {
    config.erase("mlp_bias");
    config["use_sliding_window"] = false;
  }
  config["bos_token_id"] = begin_of_text < 0 ? Json() : Json(begin_of_text);
  return config;
}

}  // namespace athanor
