// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "engine/data/batch_loader.h"

namespace athanor {

/// Throws internal unless `batch` is made for rows of `context` tokens.
void check_batch(const HostBatch& batch, std::int64_t context);

/// Fills one row from a window of context + 1 tokens, of which the first `targets` + 1 count; the
/// rest becomes padding, each token a document of its own.
void fill_row(std::span<const std::int32_t> window, std::int64_t targets, std::int32_t end_of_text,
              HostBatch& batch, std::int64_t row);

}  // namespace athanor
