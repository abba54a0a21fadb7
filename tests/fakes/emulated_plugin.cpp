// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA plug-in with its own kernels, which run on the processor in place of a card. What reads
// the card's memory other than through the backend ends by a signal.
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/emulation/host_products.h"
#include "engine/backend/cuda/emulation/host_runtime.h"
#include "engine/backend/cuda/plugin.h"
#include "tests/fakes/fake_answers.h"
#include "tests/fakes/opaque_card.h"

namespace athanor {
namespace {

/// "capability0": as the fake driver; "emulated_bytes": what the card has; "lost_after": calls of
/// the runtime until it is gone.
std::unique_ptr<Backend> make_emulated(int) {
  auto runtime = std::make_unique<cuda::HostRuntime>(
      fake::number("emulated_bytes", std::int64_t{1} << 40),
      static_cast<double>(fake::number("capability0", 86)) / 10);
  const std::int64_t calls = fake::number("lost_after", -1);
  if (calls >= 0) runtime->plan_fault({.fault = cuda::Fault::lost, .calls_before = calls});
  auto products = std::make_unique<cuda::HostProducts>(runtime->stream());
  return make_opaque(cuda::make_backend_on(std::move(runtime), std::move(products)));
}

constexpr CudaPlugin kPlugin{.version = kPluginVersion, .make = make_emulated};

}  // namespace
}  // namespace athanor

const athanor::CudaPlugin* athanor_cuda_plugin() {
  return &athanor::kPlugin;
}
