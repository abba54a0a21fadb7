// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/backend/backend.h"

/// What the CUDA plug-in, libathanor_cuda.so, and the program agree on. The plug-in is linked with
/// its own copies of what it uses of the engine (base, tensor) and defines athanor_cuda_plugin();
/// nothing else of it is looked at. Errors that it throws arrive as Error.

#ifndef ATHANOR_PLUGIN_VERSION
#error "Link the target athanor_plugin_version: the plug-in and the program must agree on it."
#endif

namespace athanor {

/// The project's version and a checksum of the headers that plug-in and program share: backends of
/// another build would be called wrongly.
inline constexpr const char* kPluginVersion = ATHANOR_PLUGIN_VERSION;

struct CudaPlugin {
  /// Equals the program's kPluginVersion; first in the struct for good, and read before the rest.
  const char* version;
  /// The backend on the card that the driver counts as `card_index`. Throws Error with a sentence.
  std::unique_ptr<Backend> (*make)(int card_index);
};

}  // namespace athanor

extern "C" {
/// Static, and the same at each call.
const athanor::CudaPlugin* athanor_cuda_plugin();
}
