// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/attention_cases.h"

#include "tests/engine/backend/case_maker.h"

namespace athanor {
namespace {

struct Heads {
  std::int64_t sequences = 1;
  std::int64_t sequence = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 32;
  std::int64_t documents = 1;
  double qkv_scale = 1;

  std::int64_t rows() const { return sequences * sequence; }
  AttentionShape shape() const { return {heads, kv_heads, head_dim, sequence}; }
  std::string text() const {
    return std::to_string(sequences) + "x" + std::to_string(sequence) + " tokens, " +
           std::to_string(heads) + "/" + std::to_string(kv_heads) + " heads of " +
           std::to_string(head_dim) + (documents > 1 ? ", packed" : "") +
           (qkv_scale > 1 ? ", large scores" : "");
  }
};

AnyOperation build_attention(Arena& arena, const Heads& heads) {
  CaseMaker maker(arena);
  const AttentionShape shape = heads.shape();
  return Attention{
      .shape = shape,
      .qkv = maker.random({heads.rows(), shape.qkv_width()}, heads.qkv_scale),
      .document_starts = maker.document_starts(heads.rows(), shape.sequence, heads.documents),
      .out = maker.space({heads.rows(), shape.query_width()}),
      .lse = maker.space({heads.rows(), shape.heads})};
}

AnyOperation build_attention_backward(Arena& arena, const Heads& heads) {
  CaseMaker maker(arena);
  const AttentionShape shape = heads.shape();
  const Attention forward = std::get<Attention>(build_attention(arena, heads));
  maker.reference().run(forward);
  return AttentionBackward{.shape = shape,
                           .qkv = forward.qkv,
                           .document_starts = forward.document_starts,
                           .out = forward.out,
                           .lse = forward.lse,
                           .d_out = maker.random({heads.rows(), shape.query_width()}),
                           .d_qkv = maker.space({heads.rows(), shape.qkv_width()}),
                           .scratch = maker.space({heads.rows(), shape.heads})};
}

AnyOperation build_qk_norm(Arena& arena, const Heads& heads) {
  CaseMaker maker(arena);
  const AttentionShape shape = heads.shape();
  return QkNorm{.shape = shape,
                .qkv = maker.random({heads.rows(), shape.qkv_width()}),
                .q_weight = maker.norm_weight(shape.head_dim),
                .k_weight = maker.norm_weight(shape.head_dim),
                .out = maker.space({heads.rows(), shape.qkv_width()}),
                .rstd = maker.space({heads.rows(), shape.heads + shape.kv_heads})};
}

AnyOperation build_qk_norm_backward(Arena& arena, const Heads& heads) {
  CaseMaker maker(arena);
  const AttentionShape shape = heads.shape();
  const QkNorm forward = std::get<QkNorm>(build_qk_norm(arena, heads));
  maker.reference().run(forward);
  return QkNormBackward{.shape = shape,
                        .qkv = forward.qkv,
                        .q_weight = forward.q_weight,
                        .k_weight = forward.k_weight,
                        .rstd = forward.rstd,
                        .d_qkv = maker.random({heads.rows(), shape.qkv_width()}),
                        .d_q_weight = maker.random({shape.head_dim}),
                        .d_k_weight = maker.random({shape.head_dim}),
                        .scratch = maker.space({kReductionParts, 2 * shape.head_dim})};
}

AnyOperation build_rope(Arena& arena, const Heads& heads, std::int64_t first_position,
                        bool inverse) {
  CaseMaker maker(arena);
  const AttentionShape shape = heads.shape();
  return Rope{.shape = shape,
              .qkv = maker.random({heads.rows(), shape.qkv_width()}),
              .table = maker.rope_table(first_position + shape.sequence, shape.head_dim),
              .first_position = first_position,
              .inverse = inverse};
}

AnyOperation build_decode(Arena& arena, const Heads& heads, std::int64_t first_position) {
  constexpr std::int64_t kSpare_rows = 3;
  CaseMaker maker(arena);
  const AttentionShape shape = heads.shape();
  const std::int64_t capacity = first_position + heads.rows() + kSpare_rows;
  return DecodeAttention{.shape = shape,
                         .qkv = maker.random({heads.rows(), shape.qkv_width()}, heads.qkv_scale),
                         .key_cache = maker.random({capacity, shape.key_width()}),
                         .value_cache = maker.random({capacity, shape.key_width()}),
                         .first_position = first_position,
                         .out = maker.space({heads.rows(), shape.query_width()})};
}

constexpr double kLarge_scale = 5;

void add_attention(std::vector<OperationCase>& cases, const Heads& heads) {
  // Scores grow with the square of queries and keys; exponentials magnify their errors.
  const double gain = heads.qkv_scale > 1 ? 80 : 1;
  cases.push_back({"attention, " + heads.text(), Operation::attention, heads.head_dim, gain,
                   [=](Arena& arena) { return build_attention(arena, heads); }});
  cases.push_back({"attention backward, " + heads.text(), Operation::attention_backward,
                   heads.head_dim, gain,
                   [=](Arena& arena) { return build_attention_backward(arena, heads); }});
}

void add_qk_norm(std::vector<OperationCase>& cases, const Heads& heads) {
  cases.push_back({"QK-norm, " + heads.text(), Operation::qk_norm, heads.head_dim, 1,
                   [=](Arena& arena) { return build_qk_norm(arena, heads); }});
  cases.push_back({"QK-norm backward, " + heads.text(), Operation::qk_norm_backward, heads.head_dim,
                   1, [=](Arena& arena) { return build_qk_norm_backward(arena, heads); }});
}

void add_rope(std::vector<OperationCase>& cases, const Heads& heads, std::int64_t first_position) {
  const std::string text = heads.text() + " from " + std::to_string(first_position);
  for (const bool inverse : {false, true}) {
    cases.push_back(
        {(inverse ? "RoPE backward, " : "RoPE, ") + text, Operation::rope, heads.head_dim, 1,
         [=](Arena& arena) { return build_rope(arena, heads, first_position, inverse); }});
  }
}

void add_decode(std::vector<OperationCase>& cases, const Heads& heads,
                std::int64_t first_position) {
  cases.push_back({"decode attention, " + heads.text() + " from " + std::to_string(first_position),
                   Operation::decode_attention, heads.head_dim, heads.qkv_scale > 1 ? 80.0 : 1.0,
                   [=](Arena& arena) { return build_decode(arena, heads, first_position); }});
}

}  // namespace

void add_attention_cases(std::vector<OperationCase>& cases) {
  std::int64_t sequence = 33;
  for (const std::int64_t head_dim : {16, 32, 64, 80, 96, 112, 128}) {
    const Heads heads{2, sequence, 4, 2, head_dim};
    add_attention(cases, heads);
    add_qk_norm(cases, {1, 19, 4, 2, head_dim});
    add_rope(cases, {2, 9, 4, 2, head_dim}, 0);
    add_decode(cases, {1, 1, 4, 2, head_dim}, 0);
    add_decode(cases, {1, 1, 4, 2, head_dim}, 70);
    add_decode(cases, {1, 7, 4, 2, head_dim}, 13);
    sequence += 1;
  }
  for (const std::int64_t kv_heads : {4, 2, 1}) {
    add_attention(cases, {1, 67, 4, kv_heads, 32, 3});
    add_qk_norm(cases, {3, 5, 4, kv_heads, 32});
    add_rope(cases, {3, 5, 4, kv_heads, 32}, 11);
    add_decode(cases, {1, 7, 4, kv_heads, 32}, 0);
    add_decode(cases, {1, 1, 4, kv_heads, 32}, 31);
  }
  add_attention(cases, {3, 1, 2, 1, 32});
  add_attention(cases, {2, 7, 3, 3, 16, 7});
  add_attention(cases, {1, 130, 2, 1, 64, 5});
  add_attention(cases, {1, 200, 1, 1, 32});
  // Longer than what gradients of bf16 keys are summed up for at once.
  add_attention(cases, {1, 270, 2, 1, 128, 3});
  add_attention(cases, {1, 75, 2, 2, 256});
  add_attention(cases, {2, 64, 2, 2, 64, 2, kLarge_scale});
  add_attention(cases, {1, 71, 4, 1, 32, 1, kLarge_scale});
  add_decode(cases, {1, 7, 2, 1, 64, 1, kLarge_scale}, 140);
}

void add_tiled_attention_cases(std::vector<OperationCase>& cases) {
  std::int64_t sequence = 141;
  for (const std::int64_t head_dim : {16, 32, 64, 80, 96, 112, 128}) {
    add_attention(cases, {1, sequence, 4, 1, head_dim, 3});
    add_attention(cases, {1, sequence + 11, 1, 1, head_dim});
    add_attention(cases, {2, 64, 2, 1, head_dim, 9});
    add_attention(cases, {3, 1, 4, 1, head_dim});
    add_decode(cases, {1, 1, 4, 1, head_dim}, 300);
    add_decode(cases, {1, 70, 4, 1, head_dim}, 65);
    sequence += 1;
  }
  add_attention(cases, {1, 257, 2, 2, 64, 40});
  add_attention(cases, {2, 129, 8, 2, 32, 1, kLarge_scale});
  add_decode(cases, {1, 1, 2, 1, 64, 1, kLarge_scale}, 140);
}

void add_attention_benchmarks(std::vector<OperationCase>& cases) {
  const Heads heads{2, 256, 6, 2, 64};
  add_attention(cases, heads);
  add_qk_norm(cases, heads);
  add_rope(cases, heads, 0);
  add_decode(cases, {1, 1, 6, 2, 64}, 511);
}

}  // namespace athanor
