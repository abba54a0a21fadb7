// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"

namespace athanor {

/// Computes in FP32, on x86-64 with SSE4.2 and on ARM. An operation's rows of values, its weights
/// and their gradients may be bf16, each of the three for itself. Each bf16 value is rounded once,
/// but for gradients of weights from many rows: a product's after each 8192 (gemm.h) and the LM
/// head's after each chunk. Highway kernels chosen for the instruction set at run time, own packed
/// matrix products, own thread pool. The same inputs give the same bits for any number of threads
/// on one instruction set. `threads` 0: as many as the process may use. Throws unsupported on an
/// older processor.
std::unique_ptr<Backend> make_cpu_backend(int threads);

/// Instruction sets compiled in that this processor has, the best first ("AVX3", "AVX2", …).
std::vector<std::string> cpu_instruction_sets();

/// A name of cpu_instruction_sets() as a person knows it: "AVX-512" for Highway's "AVX3".
std::string instruction_set_label(std::string_view name);

/// For tests: every later call in this process uses `name`; empty gives the choice back.
void force_cpu_instruction_set(const std::string& name);

}  // namespace athanor
