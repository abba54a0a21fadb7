// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/kernel_cases.h"

namespace athanor {
namespace {

constexpr Dropout kDropout{.rate = 0.1F, .seed = 1, .stream = 2};

void add_norms(std::vector<KernelCase>& cases, const KernelSizes& of) {
  const Shape shape{of.rows, of.width};
  const auto forward = [=](CardTensors& make, const Dropout& dropout) {
    return AddNorm{.input = make.rows(shape),
                   .branch = make.rows(shape),
                   .dropout = dropout,
                   .weight = make.rows({of.width}),
                   .sum = make.space(DType::bf16, shape),
                   .out = make.space(DType::bf16, shape),
                   .rstd = make.space(DType::f32, {of.rows})};
  };
  const auto backward = [=](CardTensors& make, const Dropout& dropout) {
    AddNormBackward op{.d_out = make.rows(shape),
                       .d_residual = make.rows(shape),
                       .sum = make.rows(shape),
                       .weight = make.rows({of.width}),
                       .rstd = make.positive({of.rows}),
                       .dropout = dropout,
                       .d_sum = make.space(DType::bf16, shape),
                       .d_branch = {},
                       .d_weight = make.numbers({of.width}),
                       .scratch = make.parts(of.width)};
    if (dropout.rate > 0) op.d_branch = make.space(DType::bf16, shape);
    return op;
  };
  cases.push_back(
      {"add and norm", Operation::add_norm, [=](CardTensors& make) { return forward(make, {}); }});
  cases.push_back({"add and norm, dropout", Operation::add_norm,
                   [=](CardTensors& make) { return forward(make, kDropout); }});
  cases.push_back({"norm again", Operation::norm_again, [=](CardTensors& make) {
                     return NormAgain{.x = make.rows(shape),
                                      .rstd = make.positive({of.rows}),
                                      .weight = make.rows({of.width}),
                                      .out = make.space(DType::bf16, shape)};
                   }});
  cases.push_back({"add and norm backward", Operation::add_norm_backward,
                   [=](CardTensors& make) { return backward(make, {}); }});
  cases.push_back({"add and norm backward, dropout", Operation::add_norm_backward,
                   [=](CardTensors& make) { return backward(make, kDropout); }});
}

void add_embedding(std::vector<KernelCase>& cases, const KernelSizes& of) {
  cases.push_back({"embedding", Operation::embedding, [=](CardTensors& make) {
                     return Embedding{.table = make.rows({of.vocabulary, of.width}),
                                      .tokens = make.ids(of.rows, of.vocabulary),
                                      .out = make.space(DType::bf16, {of.rows, of.width})};
                   }});
  cases.push_back({"embedding backward", Operation::embedding_backward, [=](CardTensors& make) {
                     return EmbeddingBackward{.d_out = make.rows({of.rows, of.width}),
                                              .tokens = make.ids(of.rows, of.vocabulary),
                                              .d_table = make.numbers({of.vocabulary, of.width})};
                   }});
}

void add_heads(std::vector<KernelCase>& cases, const KernelSizes& of) {
  const AttentionShape heads = of.heads;
  const Shape qkv{of.rows, heads.qkv_width()};
  const std::int64_t normed = heads.heads + heads.kv_heads;
  cases.push_back({"RoPE", Operation::rope, [=](CardTensors& make) {
                     return Rope{.shape = heads,
                                 .qkv = make.rows(qkv),
                                 .table = make.numbers({heads.sequence, heads.head_dim}, 0.5F)};
                   }});
  cases.push_back({"QK-norm", Operation::qk_norm, [=](CardTensors& make) {
                     return QkNorm{.shape = heads,
                                   .qkv = make.rows(qkv),
                                   .q_weight = make.rows({heads.head_dim}),
                                   .k_weight = make.rows({heads.head_dim}),
                                   .out = make.space(DType::bf16, qkv),
                                   .rstd = make.space(DType::f32, {of.rows, normed})};
                   }});
  cases.push_back({"QK-norm backward", Operation::qk_norm_backward, [=](CardTensors& make) {
                     return QkNormBackward{.shape = heads,
                                           .qkv = make.rows(qkv),
                                           .q_weight = make.rows({heads.head_dim}),
                                           .k_weight = make.rows({heads.head_dim}),
                                           .rstd = make.positive({of.rows, normed}, 0.1F),
                                           .d_qkv = make.rows(qkv),
                                           .d_q_weight = make.numbers({heads.head_dim}),
                                           .d_k_weight = make.numbers({heads.head_dim}),
                                           .scratch = make.parts(2 * heads.head_dim)};
                   }});
  cases.push_back(
      {"decode attention, one token", Operation::decode_attention, [=](CardTensors& make) {
         const Shape cache{of.cached_rows, heads.key_width()};
         return DecodeAttention{.shape = heads,
                                .qkv = make.rows({1, heads.qkv_width()}),
                                .key_cache = make.rows(cache),
                                .value_cache = make.rows(cache),
                                .first_position = of.cached_rows - 1,
                                .out = make.space(DType::bf16, {1, heads.query_width()})};
       }});
}

void add_quantised(std::vector<KernelCase>& cases, const KernelSizes& of) {
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0}) {
    const std::string name(names_of(format)[static_cast<std::size_t>(format)]);
    for (const std::int64_t rows : {1, 8}) {
      cases.push_back({name + " product, rows: " + std::to_string(rows),
                       Operation::quantised_linear, [=](CardTensors& make) {
                         return QuantisedLinear{
                             .x = make.rows({rows, of.width}),
                             .weight = make.quantised(format, of.vocabulary, of.width),
                             .bias = {},
                             .y = make.space(DType::f32, {rows, of.vocabulary}),
                             .scratch = {}};
                       }});
    }
  }
}

void add_activations(std::vector<KernelCase>& cases, const KernelSizes& of) {
  for (const Activation activation : {Activation::swiglu, Activation::gelu}) {
    const std::int64_t parts = activation == Activation::swiglu ? 2 : 1;
    const Shape pre{of.rows, parts * of.ffn};
    const Shape out{of.rows, of.ffn};
    const std::string name(names_of(activation)[static_cast<std::size_t>(activation)]);
    cases.push_back({name, Operation::mlp_activation, [=](CardTensors& make) {
                       return MlpActivation{.activation = activation,
                                            .pre = make.rows(pre),
                                            .out = make.space(DType::bf16, out)};
                     }});
    cases.push_back(
        {name + " backward", Operation::mlp_activation_backward, [=](CardTensors& make) {
           return MlpActivationBackward{.activation = activation,
                                        .pre = make.rows(pre),
                                        .d_out = make.rows(out),
                                        .d_pre = make.space(DType::bf16, pre)};
         }});
  }
}

void add_fp8(std::vector<KernelCase>& cases, const KernelSizes& of) {
  const Shape shape{of.rows, of.ffn};
  cases.push_back({"peak", Operation::peak, [=](CardTensors& make) {
                     return Peak{.x = make.rows(shape), .peak = make.space(DType::f32, {1})};
                   }});
  const auto quantise = [=](CardTensors& make, bool by_rows, bool transposed) {
    Quantise op{.x = make.rows(shape),
                .peak = make.positive({1}),
                .codes = {},
                .transposed = {},
                .scale = make.space(DType::f32, {1})};
    if (by_rows) op.codes = make.space(DType::u8, shape);
    if (transposed) op.transposed = make.space(DType::u8, {of.ffn, of.rows});
    return op;
  };
  cases.push_back({"quantise", Operation::quantise,
                   [=](CardTensors& make) { return quantise(make, true, false); }});
  cases.push_back({"quantise, transposed", Operation::quantise,
                   [=](CardTensors& make) { return quantise(make, false, true); }});
  cases.push_back({"quantise, both", Operation::quantise,
                   [=](CardTensors& make) { return quantise(make, true, true); }});
}

void add_updates(std::vector<KernelCase>& cases, const KernelSizes& of) {
  const Shape flat{of.parameters};
  const AdamWStep at{.learning_rate = 1e-4F, .decay = 0.1F, .step = 100};
  cases.push_back(
      {"AdamW, FP32 master", Operation::adamw, [=](CardTensors& make) {
         return AdamW{
             .to = {.weights = make.rows(flat), .master = make.numbers(flat), .low_bits = {}},
             .gradients = make.numbers(flat),
             .m = make.numbers(flat),
             .v = make.positive(flat),
             .at = at};
       }});
  cases.push_back(
      {"8-bit AdamW, FP32 master", Operation::adamw_8bit, [=](CardTensors& make) {
         const Shape blocks{moment_blocks(of.parameters)};
         return AdamW8{
             .to = {.weights = make.rows(flat), .master = make.numbers(flat), .low_bits = {}},
             .gradients = make.numbers(flat),
             .m = make.codes(of.parameters),
             .v = make.codes(of.parameters),
             .m_scale = make.positive(blocks),
             .v_scale = make.positive(blocks),
             .at = at};
       }});
  cases.push_back({"sum of squares", Operation::sum_of_squares, [=](CardTensors& make) {
                     return SumOfSquares{.x = make.numbers(flat), .result = {}};
                   }});
}

}  // namespace

KernelSizes KernelSizes::tiny() {
  return {.rows = 32,
          .width = 64,
          .ffn = 96,
          .vocabulary = 257,
          .parameters = 1024,
          .heads = {.heads = 4, .kv_heads = 2, .head_dim = 32, .sequence = 16},
          .cached_rows = 64,
          .product_rows = 64,
          .copy_bytes = 1 << 20,
          .peak_side = 64,
          .arena_bytes = 64 << 20};
}

std::vector<KernelCase> memory_bound_cases(const KernelSizes& sizes) {
  std::vector<KernelCase> cases;
  add_embedding(cases, sizes);
  add_norms(cases, sizes);
  add_heads(cases, sizes);
  add_quantised(cases, sizes);
  add_activations(cases, sizes);
  add_fp8(cases, sizes);
  add_updates(cases, sizes);
  return cases;
}

std::vector<AttentionCase> attention_cases(const KernelSizes& sizes) {
  const std::int64_t tokens = sizes.product_rows;
  if (tokens < 1024) {
    return {{{.heads = 2, .kv_heads = 1, .head_dim = 64, .sequence = tokens}, tokens},
            {{.heads = 2, .kv_heads = 2, .head_dim = 112, .sequence = tokens / 2}, tokens}};
  }
  // Heads that make a model about 2048 wide.
  const AttentionShape shapes[] = {{.heads = 32, .kv_heads = 32, .head_dim = 64},
                                   {.heads = 32, .kv_heads = 8, .head_dim = 64},
                                   {.heads = 24, .kv_heads = 24, .head_dim = 80},
                                   {.heads = 20, .kv_heads = 20, .head_dim = 96},
                                   {.heads = 16, .kv_heads = 16, .head_dim = 112},
                                   {.heads = 16, .kv_heads = 16, .head_dim = 128},
                                   {.heads = 16, .kv_heads = 4, .head_dim = 128}};
  std::vector<AttentionCase> cases;
  for (AttentionShape shape : shapes) {
    for (const std::int64_t sequence : {1024, 4096}) {
      shape.sequence = sequence;
      cases.push_back({shape, tokens});
    }
  }
  return cases;
}

LinearFp8 build_linear_fp8(CardTensors& make, const Linear& linear) {
  return {.in_rows_type = linear,
          .x = make.fp8(linear.x, false),
          .weight = make.fp8(linear.weight, false)};
}

LinearBackwardFp8 build_linear_backward_fp8(CardTensors& make, const LinearBackward& backward) {
  return {.in_rows_type = backward,
          .d_y = make.fp8(backward.d_y, false),
          .d_y_transposed = make.fp8(backward.d_y, true),
          .x_transposed = make.fp8(backward.x, true),
          .weight_transposed = make.fp8(backward.weight, true)};
}

Attention build_attention(CardTensors& make, const AttentionCase& of) {
  return {.shape = of.shape,
          .qkv = make.rows({of.tokens, of.shape.qkv_width()}),
          .document_starts = make.starts(of.tokens),
          .out = make.space(DType::bf16, {of.tokens, of.shape.query_width()}),
          .lse = make.space(DType::f32, {of.tokens, of.shape.heads})};
}

AttentionBackward build_attention_backward(CardTensors& make, const Attention& forward) {
  return {.shape = forward.shape,
          .qkv = forward.qkv,
          .document_starts = forward.document_starts,
          .out = forward.out,
          .lse = forward.lse,
          .d_out = make.rows(forward.out.shape),
          .d_qkv = make.space(DType::bf16, forward.qkv.shape),
          .scratch = make.space(DType::f32, forward.lse.shape)};
}

std::vector<ProductCase> product_cases(const KernelSizes& sizes) {
  const std::int64_t rows = sizes.product_rows;
  if (rows < 1024) return {{"tiny", rows, sizes.width, sizes.ffn}};
  return {{"95M QKV", rows, 768, 1280},           {"95M up", rows, 768, 2048},
          {"95M down", rows, 2048, 768},          {"124M up", rows, 768, 3072},
          {"0.5B gate and up", rows, 896, 9728},  {"0.5B down", rows, 4864, 896},
          {"977M QKV", rows, 1792, 5376},         {"977M attention out", rows, 1792, 1792},
          {"977M gate and up", rows, 1792, 8960}, {"977M down", rows, 4480, 1792}};
}

ProductCase head_chunk(const KernelSizes& sizes) {
  return {"head, one chunk", sizes.product_rows / 4, sizes.width, sizes.vocabulary};
}

}  // namespace athanor
