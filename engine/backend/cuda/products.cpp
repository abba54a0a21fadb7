// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/products.h"

#include <fmt/format.h>

namespace athanor::cuda {

bool in_fp8_extents(std::int64_t rows, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t kMultiple = 16;
  return rows % kMultiple == 0 && in % kMultiple == 0 && out % kMultiple == 0;
}

std::string no_fp8_notice(std::int64_t rows, std::int64_t in, std::int64_t out,
                          const std::string& reason) {
  return fmt::format(
      "Products of {} tokens' {} numbers by {} rows of weights are made in BF16: {}.", rows, in,
      out, reason);
}

}  // namespace athanor::cuda
