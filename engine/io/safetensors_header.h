// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/tensor.h"

namespace athanor {

/// A tensor as the file's header has it.
struct SafetensorsEntry {
  std::string name;
  std::string type;  ///< "F32", "BF16", …: any that the format knows
  Shape shape;
  std::span<const std::byte> data;  ///< as many bytes as type and shape need, anywhere aligned
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Reads the header of a safetensors file (https://github.com/huggingface/safetensors#format) that
/// lies in `file`, and checks all of it: types, shapes, offsets, that the data is covered once and
/// wholly. Throws damaged naming `path` and the entry, unsupported for a type that is not known.
SafetensorsHeader read_safetensors_header(const std::filesystem::path& path,
                                          std::span<const std::byte> file);

}  // namespace athanor
