// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/emulation/host_products.h"
#include "engine/backend/cuda/emulation/host_runtime.h"

namespace athanor::cuda {

/// A backend whose kernels run on the processor, and the runtime in it.
struct EmulatedCard {
  explicit EmulatedCard(std::int64_t memory_bytes = std::int64_t{1} << 40,
                        double compute_capability = kFirst_fp8) {
    auto owned = std::make_unique<HostRuntime>(memory_bytes, compute_capability);
    runtime = owned.get();
    auto products = std::make_unique<HostProducts>(owned->stream());
    backend = make_backend_on(std::move(owned), std::move(products));
  }

  HostRuntime* runtime;
  std::unique_ptr<Backend> backend;
};

}  // namespace athanor::cuda
