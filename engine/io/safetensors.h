// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "engine/tensor/tensor.h"

namespace athanor {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Gives a tensor's numbers from `first` on, as many as fill `to`: of one that lies in memory which
/// this process cannot read, such as a card's, or that is made only now.
using ReadTensor =
    std::function<void(const NamedTensor& entry, std::int64_t first, std::span<std::byte> to)>;

/// Whether a written file is on the disk when the call returns, or perhaps still in the system's
/// memory, to be synced by its caller.
enum class Sync { now, later };

/// Writes tensors in the safetensors format (8-byte little-endian header length, JSON header, data;
/// https://github.com/huggingface/safetensors#format) atomically, and returns the file's XXH3.
/// Tensors of F32, F64, BF16, U16 and U8 only; data starts 8-aligned. With `read`, tensors are read
/// by it, each from start to end, a few MiB at a time; their own data may be null then.
std::uint64_t write_safetensors(const std::filesystem::path& path,
                                std::span<const NamedTensor> tensors,
                                const std::map<std::string, std::string>& metadata = {},
                                const ReadTensor& read = {}, Sync sync = Sync::now);

/// A mapped safetensors file whose header, offsets, shapes and overlaps were checked; damaged names
/// the file and what is wrong. Views live as long as the object; their memory is read-only.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t file_checksum() const;
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Throws damaged when the tensor is missing or has another shape or type.
  Tensor find(const std::string& name, DType dtype, const Shape& shape) const;

 private:
  SafetensorsFile(std::filesystem::path path, MappedFile file);

  std::filesystem::path path_;
  MappedFile file_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace athanor
