// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/card_traits.h"

#include "engine/backend/cuda/kernels.h"

namespace athanor::cuda {

BackendTraits card_traits(double compute_capability) {
  return {.compute_type = DType::f32,
          .bf16_only = true,
          // Blocks that keep every multiprocessor of a large card busy with sums over rows.
          .reduction_parts = 512,
          // What the library of matrix products asks for on cards of compute capability 9 and 12.
          .workspace_bytes = std::int64_t{32} << 20,
          .most_width = kWidestNorm,
          .few_quantised_rows = kFewQuantisedRows,
          .tunes = true,
          .gelu_in_products = true,
          .fp8 = compute_capability >= kFirst_fp8};
}

}  // namespace athanor::cuda
