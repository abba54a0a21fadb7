// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/plugin.h"

#include "engine/backend/cuda/card_runtime.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/library_products.h"
#include "engine/base/paths.h"

namespace athanor {
namespace {

std::unique_ptr<Backend> make_on_card(int card_index) {
  std::unique_ptr<cuda::Runtime> runtime = cuda::make_card_runtime(card_index);
  std::unique_ptr<cuda::Products> products =
      cuda::make_library_products(*runtime, default_home() / "matrix-products.json");
  return cuda::make_backend_on(std::move(runtime), std::move(products));
}

constexpr CudaPlugin kPlugin{.version = kPluginVersion, .make = make_on_card};

}  // namespace
}  // namespace athanor

const athanor::CudaPlugin* athanor_cuda_plugin() {
  return &athanor::kPlugin;
}
