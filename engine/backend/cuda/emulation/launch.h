// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <tuple>

#include "engine/backend/cuda/emulation/launch_shape.h"
#include "engine/backend/cuda/emulation/work.h"
#include "engine/backend/cuda/stream.h"

namespace athanor::cuda {

namespace emulation {

void run_grid(const LaunchShape& shape, void (*call)(const void* arguments), const void* arguments);

}  // namespace emulation

/// Runs `kernel` before it returns, or notes it with its arguments while `stream` is recorded.
/// Throws internal what is wrong with the launch, and the first thing that is wrong with the
/// kernel: who reached what where.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
            const Arguments&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  const auto call = [kernel,
                     values = std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)] {
    std::apply(kernel, values);
  };
  emulation::give(stream, [shape, call] {
    emulation::run_grid(
        shape, [](const void* that) { (*static_cast<decltype(call)*>(that))(); }, &call);
  });
}

}  // namespace athanor::cuda
