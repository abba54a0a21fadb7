// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/plugin_loader.h"

#include <string_view>

#include "engine/backend/cuda/library.h"
#include "engine/backend/cuda/plugin.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

constexpr const char* kFile = "libathanor_cuda.so";
constexpr const char* kInstall_again = "Install Athanor again, program and plug-in together.";

LoadedPlugin missing(const std::vector<fs::path>& folders) {
  LoadedPlugin loaded{.problem = std::string("The CUDA plug-in ") + kFile +
                                 " is missing. Install Athanor with CUDA, or build it where the "
                                 "CUDA Toolkit 13 is installed."};
  for (const fs::path& folder : folders)
    loaded.context += (loaded.context.empty() ? "Looked in " : ", ") + folder.string();
  return loaded;
}

}  // namespace

std::vector<fs::path> plugin_folders() {
  const std::string chosen = environment_text("ATHANOR_PLUGINS");
  if (!chosen.empty()) return {chosen};
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  if (unknown) return {};
  const fs::path folder = program.parent_path();
  return {folder, folder.parent_path() / "lib" / "athanor", folder.parent_path() / "lib"};
}

LoadedPlugin load_cuda_plugin(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    const fs::path file = folder / kFile;
    std::error_code unreadable;
    if (!fs::exists(file, unreadable)) continue;
    const std::string name = "The CUDA plug-in " + file.string();
    const Library library(file.string());
    if (!library.loaded()) {
      return {.problem = name + " cannot be loaded. " + kInstall_again, .context = library.error()};
    }
    auto* entry = library.function<const CudaPlugin*()>("athanor_cuda_plugin");
    if (entry == nullptr) return {.problem = name + " is none of Athanor's. " + kInstall_again};
    const CudaPlugin* plugin = entry();
    if (std::string_view(plugin->version) != kPluginVersion) {
      return {.problem = name + " is of another version of Athanor. " + kInstall_again,
              .context = "The plug-in is of " + std::string(plugin->version) + ", the program of " +
                         kPluginVersion + "."};
    }
    return {.plugin = plugin};
  }
  return missing(folders);
}

}  // namespace athanor
