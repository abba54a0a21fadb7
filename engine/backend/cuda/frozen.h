// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/products.h"
#include "engine/backend/cuda/stream.h"

/// Operations beside frozen weights that are kernels and matrix products in turn.
namespace athanor::cuda {

void quantised_linear(Stream stream, Products& products, const QuantisedLinear& op);
void quantised_linear_backward(Stream stream, Products& products,
                               const QuantisedLinearBackward& op);
void lora(Stream stream, Products& products, const Lora& op);
void lora_backward(Stream stream, Products& products, const LoraBackward& op);

}  // namespace athanor::cuda
