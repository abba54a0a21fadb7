// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/foreign_tensors.h"

#include <fmt/format.h>

#include <array>

namespace athanor {

namespace {

/// What the two kinds of files call the same thing.
struct Names {
  std::string_view hugging_face;
  std::string_view gguf;

  std::string_view in(FileKind kind) const {
    return kind == FileKind::hugging_face ? hugging_face : gguf;
  }
};

constexpr Names kEmbedding{"model.embed_tokens.weight", "token_embd.weight"};
constexpr Names kFinalNorm{"model.norm.weight", "output_norm.weight"};
constexpr Names kHead{"lm_head.weight", "output.weight"};
constexpr Names kLayer{"model.layers.{}.", "blk.{}."};
constexpr Names kAttentionNorm{"input_layernorm.weight", "attn_norm.weight"};
constexpr Names kQueries{"self_attn.q_proj.", "attn_q."};
constexpr Names kKeys{"self_attn.k_proj.", "attn_k."};
constexpr Names kValues{"self_attn.v_proj.", "attn_v."};
constexpr Names kQueryNorm{"self_attn.q_norm.weight", "attn_q_norm.weight"};
constexpr Names kKeyNorm{"self_attn.k_norm.weight", "attn_k_norm.weight"};
constexpr Names kAttentionOut{"self_attn.o_proj.weight", "attn_output.weight"};
constexpr Names kMlpNorm{"post_attention_layernorm.weight", "ffn_norm.weight"};
constexpr Names kGate{"mlp.gate_proj.", "ffn_gate."};
constexpr Names kUp{"mlp.up_proj.", "ffn_up."};
constexpr Names kDown{"mlp.down_proj.", "ffn_down."};

class Lister {
 public:
  Lister(const ModelConfig& model, const ParameterTable& table, Architecture architecture,
         FileKind kind)
      : model_(model),
        table_(table),
        kind_(kind),
        interleaved_dim_(
            kind == FileKind::gguf && interleaved_in_gguf(architecture) ? model.head_dim() : 0) {}

  std::vector<ForeignTensor> list() {
    add(std::string(kEmbedding.in(kind_)), table_.embedding());
    for (std::int64_t index = 0; index < model_.layers; ++index)
      add_layer(index);
    add(std::string(kFinalNorm.in(kind_)), table_.final_norm());
    if (!model_.tied) add(std::string(kHead.in(kind_)), table_.head());
    return std::move(tensors_);
  }

 private:
  struct Part {
    Names names;
    std::int64_t rows;
    bool turned;  ///< by rotary positions
  };

  void add(std::string name, int parameter) {
    if (parameter < 0) return;
    const Shape shape = table_.all()[static_cast<std::size_t>(parameter)].shape;
    tensors_.push_back({.name = std::move(name), .shape = shape, .parameter = parameter});
  }

  void add_layer(std::int64_t index) {
    const LayerParameters& ids = table_.layer(index);
    prefix_ = fmt::format(fmt::runtime(kLayer.in(kind_)), index);
    const auto own = [this](const Names& names) { return prefix_ + std::string(names.in(kind_)); };
    const AttentionShape heads = model_.attention_shape(1);
    const std::array attention = {Part{kQueries, heads.query_width(), true},
                                  Part{kKeys, heads.key_width(), true},
                                  Part{kValues, heads.key_width(), false}};
    const std::array both = {Part{kGate, model_.ffn, false}, Part{kUp, model_.ffn, false}};
    const std::span<const Part> up = model_.gated() ? std::span(both) : std::span(both).last(1);
    const std::array down = {Part{kDown, model_.width, false}};
    add(own(kAttentionNorm), ids.attention_norm);
    add_parts(attention, "weight", ids.qkv);
    add_parts(attention, "bias", ids.qkv_bias);
    add(own(kQueryNorm), ids.q_norm);
    add(own(kKeyNorm), ids.k_norm);
    add(own(kAttentionOut), ids.attention_out);
    add(own(kMlpNorm), ids.mlp_norm);
    add_parts(up, "weight", ids.up);
    add_parts(up, "bias", ids.up_bias);
    add_parts(down, "weight", ids.down);
    add_parts(down, "bias", ids.down_bias);
  }

  /// One parameter's rows, or for a bias its elements, as tensors of their own.
  void add_parts(std::span<const Part> parts, std::string_view suffix, int parameter) {
    if (parameter < 0) return;
    const Shape whole = table_.all()[static_cast<std::size_t>(parameter)].shape;
    const bool matrix = whole.rank() == 2;
    std::int64_t first = 0;
    for (const Part& part : parts) {
      tensors_.push_back({.name = prefix_ + std::string(part.names.in(kind_)) + std::string(suffix),
                          .shape = matrix ? Shape{part.rows, whole[1]} : Shape{part.rows},
                          .parameter = parameter,
                          .first = first,
                          .interleaved_dim = matrix && part.turned ? interleaved_dim_ : 0});
      first += tensors_.back().shape.elements();
    }
  }

  const ModelConfig& model_;
  const ParameterTable& table_;
  FileKind kind_;
  std::int64_t interleaved_dim_;
  std::string prefix_;
  std::vector<ForeignTensor> tensors_;
};

}  // namespace

std::int64_t ForeignTensor::own_row(std::int64_t row) const {
  if (interleaved_dim == 0) return row;
  // There: first and second half of a head in turns. Here: one after the other.
  const std::int64_t within = row % interleaved_dim;
  return row - within + within % 2 * (interleaved_dim / 2) + within / 2;
}

std::int64_t ForeignTensor::foreign_row(std::int64_t row) const {
  if (interleaved_dim == 0) return row;
  const std::int64_t within = row % interleaved_dim;
  const std::int64_t half = interleaved_dim / 2;
  return row - within + within % half * 2 + within / half;
}

std::vector<ForeignTensor> foreign_tensors(const ModelConfig& model, const ParameterTable& table,
                                           Architecture architecture, FileKind kind) {
  return Lister(model, table, architecture, kind).list();
}

}  // namespace athanor
