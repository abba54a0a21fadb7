// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/batch_rows.h"

#include "engine/base/error.h"

namespace athanor {

void check_batch(const HostBatch& batch, std::int64_t context) {
  const auto elements = static_cast<std::size_t>(batch.rows * context);
  if (batch.context != context || batch.tokens.size() != elements ||
      batch.targets.size() != elements || batch.document_starts.size() != elements) {
    throw Error(ErrorKind::internal, "A batch was made for another context than its loader.");
  }
}

void fill_row(std::span<const std::int32_t> window, std::int64_t targets, std::int32_t end_of_text,
              HostBatch& batch, std::int64_t row) {
  const auto context = static_cast<std::size_t>(batch.context);
  const auto given = static_cast<std::size_t>(targets);
  const std::size_t first = static_cast<std::size_t>(row) * context;
  std::int32_t document_start = 0;
  for (std::size_t index = 0; index < context; ++index) {
    const bool padding = index >= given;
    batch.tokens[first + index] = padding ? end_of_text : window[index];
    batch.targets[first + index] = padding ? -1 : window[index + 1];
    if (padding) document_start = static_cast<std::int32_t>(index);
    batch.document_starts[first + index] = document_start;
    if (!padding && window[index] == end_of_text) {
      document_start = static_cast<std::int32_t>(index + 1);
    }
  }
}

}  // namespace athanor
