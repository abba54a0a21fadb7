// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <memory>

#include "engine/backend/cuda/products.h"
#include "engine/backend/cuda/runtime.h"

namespace athanor::cuda {

/// cuBLASLt's products on the runtime's stream, whose fastest ways are kept in `plans`.
std::unique_ptr<Products> make_library_products(Runtime& runtime,
                                                const std::filesystem::path& plans);

}  // namespace athanor::cuda
