// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace athanor {

/// A file of resources/presets as it was when the program was built.
struct PresetFile {
  std::string id;
  std::string_view content;
};
std::span<const PresetFile> preset_files();

}  // namespace athanor
