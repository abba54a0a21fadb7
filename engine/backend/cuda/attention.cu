#include "engine/backend/cuda/kernels.h"
namespace athanor::cuda { void attention(Stream, const Attention&) {} void attention_backward(Stream, const AttentionBackward&) {} void decode_attention(Stream, const DecodeAttention&) {} bool attention_supports(std::int64_t d) { return d == 0; } }
