// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace athanor {

struct CudaPlugin;

struct LoadedPlugin {
  const CudaPlugin* plugin = nullptr;  ///< for as long as the process lives
  std::string problem;                 ///< why there is none, with the next step
  std::string context;                 ///< technical detail of it; may be empty
};

/// $ATHANOR_PLUGINS where that is set, else the places relative to the program's own file in which
/// an installed program and a build have it.
std::vector<std::filesystem::path> plugin_folders();

/// Loads libathanor_cuda.so from the first of `folders` that has it, and keeps it loaded. Never
/// throws.
LoadedPlugin load_cuda_plugin(const std::vector<std::filesystem::path>& folders);

}  // namespace athanor
