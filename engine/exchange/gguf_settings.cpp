// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/gguf_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/error.h"
#include "engine/exchange/settings_limits.h"

namespace athanor {

namespace {

/// Kinds as GGUF has them: Mistral's models are llama there.
constexpr std::array kKinds = {Architecture::llama, Architecture::qwen2, Architecture::qwen3,
                               Architecture::arcee};

class SettingsOfGguf {
 public:
  SettingsOfGguf(const GgufFile& file, const ForeignOptions& options)
      : file_(file), options_(options), place_(file.path().string()) {}

  ForeignSettings read() {
    read_kind();
    read_shape();
    refuse_what_is_missing();
    note_unknown();
    const std::int64_t context = required("context_length");
    finish_settings(made_, context, integer("attention.sliding_window").value_or(0), options_,
                    place_);
    return std::move(made_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::damaged,
                fmt::format("{} does not describe a model: {}. Get the file again.", place_, what));
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be imported: {}. Choose another model.", place_, what));
  }

  std::string key(const char* name) {
    known_.insert(prefix_ + name);
    return prefix_ + name;
  }
  std::optional<std::int64_t> integer(const char* name) {
    const std::optional<std::int64_t> value = file_.integer(key(name));
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (value && (*value < 0 || *value > kMost))
      damaged(fmt::format("its {}{} is {}", prefix_, name, *value));
    return value;
  }
  std::int64_t required(const char* name) {
    const std::optional<std::int64_t> value = integer(name);
    if (!value) damaged(fmt::format("its {}{} is missing", prefix_, name));
    return *value;
  }

  void read_kind() {
    const std::optional<std::string> kind = file_.text("general.architecture");
    if (!kind) damaged("its general.architecture is missing");
    const auto* const found = std::ranges::find(kKinds, *kind, [](Architecture architecture) {
      return std::string(name_of(architecture));
    });
    if (found == kKinds.end()) throw Error(ErrorKind::unsupported, unknown_kind(place_, *kind));
    made_.architecture = *found;
    prefix_ = *kind + ".";
    if (file_.integer("split.count").value_or(1) > 1) {
      unsupported("it is one part of several; put them together with llama-gguf-split --merge");
    }
  }

  const StoredTensor* tensor(std::string_view name) const {
    const auto found = std::ranges::find(file_.tensors(), name, &StoredTensor::name);
    return found == file_.tensors().end() ? nullptr : &*found;
  }

  void read_shape() {
    ModelConfig& model = made_.model;
    const StoredTensor* const embedding = tensor("token_embd.weight");
    if (embedding == nullptr || embedding->shape.rank() != 2)
      damaged("it has no tensor token_embd.weight of two dimensions");
    model.vocabulary = embedding->shape[0];
    if (integer("vocab_size").value_or(model.vocabulary) != model.vocabulary)
      damaged("its vocab_size and the rows of token_embd.weight differ");
    model.layers = required("block_count");
    model.width = required("embedding_length");
    model.heads = required("attention.head_count");
    model.kv_heads = integer("attention.head_count_kv").value_or(model.heads);
    model.ffn = required("feed_forward_length");
    model.tied = tensor("output.weight") == nullptr;
    model.norm_epsilon = real_or("attention.layer_norm_rms_epsilon", 1e-5);
    model.rope_base = real_or("rope.freq_base", 10000);
    model.biases = tensor("blk.0.ffn_down.bias") != nullptr;
    model.qkv_biases = made_.architecture == Architecture::qwen2;
    model.qk_norm = made_.architecture == Architecture::qwen3;
    model.activation =
        made_.architecture == Architecture::arcee ? Activation::relu2 : Activation::swiglu;
    read_heads();
  }

  double real_or(const char* name, double without) {
    return file_.real(key(name)).value_or(without);
  }

  void read_heads() {
    ModelConfig& model = made_.model;
    const std::int64_t share = model.heads > 0 ? model.width / model.heads : 0;
    const std::int64_t head_dim = integer("attention.key_length").value_or(share);
    if (head_dim == 0) damaged("its heads have no elements");
    if (integer("attention.value_length").value_or(head_dim) != head_dim)
      unsupported("the heads of its keys and values differ in size (attention.value_length)");
    if (integer("rope.dimension_count").value_or(head_dim) != head_dim)
      unsupported("only a part of each head turns (rope.dimension_count)");
    model.head_size = head_dim == share && model.width % model.heads == 0 ? 0 : head_dim;
  }

  void refuse_what_is_missing() {
    if (file_.text(key("rope.scaling.type")).value_or("none") != "none" ||
        real_or("rope.scaling.factor", 1) != 1 || real_or("rope.scale_linear", 1) != 1 ||
        tensor("rope_freqs.weight") != nullptr) {
      unsupported("its rotary positions are scaled (rope.scaling or rope_freqs)");
    }
    if (integer("expert_count").value_or(0) != 0)
      unsupported("its MLPs are several experts (expert_count)");
    for (const char* const name :
         {"logit_scale", "residual_scale", "embedding_scale", "attention.scale",
          "attention.clamp_kqv", "attn_logit_softcapping", "final_logit_softcapping"}) {
      if (file_.has(key(name))) unsupported(fmt::format("it has {}{}", prefix_, name));
    }
  }

  /// Keys of the architecture that are not known; the rest tells of the file or the tokenizer.
  void note_unknown() {
    known_.insert({prefix_ + "context_length", prefix_ + "attention.sliding_window",
                   prefix_ + "tensor_data_layout", prefix_ + "rope.scaling.original_context_length",
                   prefix_ + "rope.scaling.finetuned", prefix_ + "expert_used_count"});
    std::string unknown;
    for (const std::string& name : file_.keys()) {
      if (name.starts_with(prefix_) && !known_.contains(name) && unknown.size() < 400)
        unknown += (unknown.empty() ? "" : ", ") + name.substr(0, 80);
    }
    if (unknown.empty()) return;
    made_.notices.push_back(
        fmt::format("{} has values that are not known here and were not used: "
                    "{}.",
                    place_, unknown));
  }

  const GgufFile& file_;
  const ForeignOptions& options_;
  std::string place_;
  std::string prefix_;
  std::set<std::string> known_;
  ForeignSettings made_;
};

}  // namespace

ForeignSettings read_gguf_settings(const GgufFile& file, const ForeignOptions& options) {
  return SettingsOfGguf(file, options).read();
}

void add_gguf_settings(GgufMetadata& metadata, const ModelConfig& model,
                       Architecture architecture) {
  const std::string kind(name_of(architecture));
  const auto whole = [&](const char* name, std::int64_t value) {
    metadata.add(kind + "." + name, static_cast<std::uint32_t>(value));
  };
  metadata.add("general.architecture", kind);
  whole("vocab_size", model.vocabulary);
  whole("context_length", model.context);
  whole("embedding_length", model.width);
  whole("block_count", model.layers);
  whole("feed_forward_length", model.ffn);
  whole("attention.head_count", model.heads);
  whole("attention.head_count_kv", model.kv_heads);
  whole("attention.key_length", model.head_dim());
  whole("attention.value_length", model.head_dim());
  whole("rope.dimension_count", model.head_dim());
  metadata.add(kind + ".rope.freq_base", static_cast<float>(model.rope_base));
  metadata.add(kind + ".attention.layer_norm_rms_epsilon", static_cast<float>(model.norm_epsilon));
}

void check_gguf_has(const ModelConfig& model) {
  if (model.gated() || model.activation == Activation::relu2) return;
  constexpr auto kNames = names_of(Activation{});
  throw Error(ErrorKind::unsupported,
              fmt::format("This model cannot be exported as GGUF: llama.cpp has no architecture "
                          "like this one with model.activation {}. Export it as a Hugging Face "
                          "folder.",
                          kNames[static_cast<std::size_t>(model.activation)]));
}

}  // namespace athanor
