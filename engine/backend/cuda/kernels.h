// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/device.h"
#include "engine/backend/operations.h"

/// The kernels' launches. Each queues its work on the stream and returns; tensors lie in device
/// memory, checked by the backend. Rows of values are bf16 throughout.
namespace athanor::cuda {

void attention(Stream stream, const Attention& op);
void attention_backward(Stream stream, const AttentionBackward& op);
void decode_attention(Stream stream, const DecodeAttention& op);

/// Whether attention has kernels for heads of so many elements.
bool attention_supports(std::int64_t head_dim);

}  // namespace athanor::cuda
