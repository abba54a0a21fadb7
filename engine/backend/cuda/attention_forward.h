// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/cuda/device.h"

namespace athanor::cuda {

/// Rows of queries and the keys that they see. Pointers are to row 0 of head 0; strides count
/// numbers from row to row. Sequence s has queries from row s·queries on and keys from row s·keys
/// on; query i of a sequence stands at its key first_position + i.
struct ForwardView {
  const Bf16* query_rows = nullptr;
  int query_stride = 0;
  const Bf16* key_rows = nullptr;
  const Bf16* value_rows = nullptr;
  int key_stride = 0;                             ///< of values too
  const std::int32_t* document_starts = nullptr;  ///< null: queries see from key 0 on
  Bf16* out = nullptr;                            ///< [rows, heads·head_dim]
  float* lse = nullptr;                           ///< [rows, heads], null where not wanted
  float* peak = nullptr;                          ///< of out (Peak), null where not wanted
  int heads = 0;
  int group = 0;  ///< query heads of a key head
  int queries = 0;
  int keys = 0;
  int first_position = 0;
};

void launch_attention(Stream stream, const ForwardView& view, std::int64_t head_dim,
                      std::int64_t sequences);

}  // namespace athanor::cuda
