// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>
#include <vector>

#include "tests/engine/backend/operation_tensors.h"

namespace athanor {

/// What attention on tensor cores adds to an output's errors, element by element: there the weights
/// P and the gradients dS of the scores are rounded to bf16 before they are multiplied, each by
/// 2⁻⁸ of itself at most. An element that sums products t of them then errs like a random walk (see
/// tolerance()), by 4·2⁻⁸·√Σt². Products are
/// - of out: P·value, over the keys a row sees;
/// - of a query's gradient: dS·key/√head_dim, over the keys it sees;
/// - of a key's gradient: dS·query/√head_dim, over the queries that see it, of all heads that read
///   it; of a value's gradient likewise P·d_out.
/// QuantisedLinear rounds weights likewise for more than cuda::kFewQuantisedRows rows, and its
/// backward direction always does; their products are x·weight and d_y·weight.
/// Other outputs and operations get nothing: an empty vector. `expected` is in f64, after it ran.
std::vector<double> tensor_core_roundings(const AnyOperation& expected, std::string_view output);

}  // namespace athanor
