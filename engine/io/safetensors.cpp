// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/io/safetensors_header.h"

namespace athanor {

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are mapped as they lie on disk");

DType type_of(const SafetensorsEntry& entry, const std::filesystem::path& path) {
  constexpr std::array kTypes = {std::pair{"F32", DType::f32}, std::pair{"F64", DType::f64},
                                 std::pair{"BF16", DType::bf16}, std::pair{"U16", DType::u16},
                                 std::pair{"U8", DType::u8}};
  for (const auto& [name, type] : kTypes) {
    if (entry.type == name) return type;
  }
  throw Error(ErrorKind::unsupported,
              fmt::format("{} stores {} as {}; only F32, F64, BF16, U16 and U8 can be read. "
                          "Convert the file to F32.",
                          path.string(), entry.name, entry.type));
}

Tensor view_of(const SafetensorsEntry& entry, const std::filesystem::path& path) {
  const DType type = type_of(entry, path);
  const auto address = reinterpret_cast<std::uintptr_t>(entry.data.data());
  if (address % static_cast<std::uintptr_t>(size_of(type)) != 0) {
    throw Error(ErrorKind::damaged,
                fmt::format("{} is not a usable safetensors file: the data of {} is not aligned. "
                            "Use another copy or an earlier checkpoint.",
                            path.string(), entry.name));
  }
  // Tensor is a mutable view; writing here would fault, as the header says.
  return {const_cast<std::byte*>(entry.data.data()), type, entry.shape};
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path, MappedFile file)
    : path_(std::move(path)), file_(std::move(file)) {}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile file(path, MappedFile(path));
  SafetensorsHeader header = read_safetensors_header(path, file.file_.bytes());
  for (const SafetensorsEntry& entry : header.entries)
    file.tensors_.push_back({entry.name, view_of(entry, path)});
  file.metadata_ = std::move(header.metadata);
  return file;
}

std::uint64_t SafetensorsFile::file_checksum() const {
  return checksum(file_.bytes());
}

Tensor SafetensorsFile::find(const std::string& name, DType dtype, const Shape& shape) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const NamedTensor& entry) { return entry.name == name; });
  if (found == tensors_.end()) {
    throw Error(
        ErrorKind::damaged,
        fmt::format("{} has no tensor {}: it belongs to another model. Choose the file that "
                    "was saved with this model.",
                    path_.string(), name));
  }
  if (found->tensor.dtype != dtype || found->tensor.shape != shape) {
    throw Error(ErrorKind::damaged,
                fmt::format("{}: the tensor {} has the shape {} in {} bytes a number, {} in {} was "
                            "expected. Choose the file that was saved with this model.",
                            path_.string(), name, found->tensor.shape.text(),
                            size_of(found->tensor.dtype), shape.text(), size_of(dtype)));
  }
  return found->tensor;
}

}  // namespace athanor
