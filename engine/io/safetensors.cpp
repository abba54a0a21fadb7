// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/base/json.h"

namespace athanor {

namespace {

static_assert(std::endian::native == std::endian::little, "tensors are mapped as they lie on disk");

/// The reference implementation's limit.
constexpr std::uint64_t kHeaderLimit_bytes = 100'000'000;

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  std::uint64_t begin;
  std::uint64_t end;
};

class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, std::span<const std::byte> bytes)
      : path_(path), bytes_(bytes) {}

  void read() {
    const Json header = parse();
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(value);
      } else {
        entries.push_back(read_entry(name, value));
      }
    }
    check_coverage();
  }

  std::vector<Entry> entries;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
  std::span<const std::byte> data;

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::damaged, path_.string() + " is not a usable safetensors file: " + what +
                                        ". Use another copy or an earlier checkpoint.");
  }

  Json parse() {
    std::uint64_t header_bytes = 0;
    if (bytes_.size() < sizeof(header_bytes)) {
      refuse(fmt::format("it has only {} bytes", bytes_.size()));
    }
    std::memcpy(&header_bytes, bytes_.data(), sizeof(header_bytes));
    const std::span<const std::byte> rest = bytes_.subspan(sizeof(header_bytes));
    if (header_bytes > rest.size() || header_bytes > kHeaderLimit_bytes) {
      refuse(fmt::format("its header claims {} bytes of {}", header_bytes, rest.size()));
    }
    data = rest.subspan(header_bytes);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), header_bytes);
    if (!text.starts_with('{')) refuse("its header is not a JSON object");
    return parse_json(text, path_.string() + ", header");
  }

  void read_metadata(const Json& value) {
    if (!value.is_object()) refuse("__metadata__ is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) refuse(fmt::format("__metadata__.{} is not a text", key));
      metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    if (!value.is_object()) refuse(fmt::format("the entry {} is not an object", name));
    Entry entry{.name = name,
                .dtype = read_dtype(name, value.value("dtype", Json())),
                .shape = {},
                .begin = 0,
                .end = 0};
    const std::uint64_t elements = read_shape(entry, value.value("shape", Json()));
    const Json offsets = value.value("data_offsets", Json());
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      refuse(fmt::format("{}.data_offsets must be two numbers", name));
    }
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    const auto element_bytes = static_cast<std::uint64_t>(size_of(entry.dtype));
    if (entry.begin > entry.end || entry.end > data.size()) {
      refuse(fmt::format("{} lies at bytes {} to {}, but the data has {}", name, entry.begin,
                         entry.end, data.size()));
    }
    if ((entry.end - entry.begin) % element_bytes != 0 ||
        (entry.end - entry.begin) / element_bytes != elements) {
      refuse(fmt::format("{} has {} bytes, which its shape {} does not need", name,
                         entry.end - entry.begin, entry.shape.text()));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(data.data()) + entry.begin;
    if (address % element_bytes != 0) refuse(fmt::format("the data of {} is not aligned", name));
    return entry;
  }

  DType read_dtype(const std::string& name, const Json& value) const {
    if (!value.is_string()) refuse(fmt::format("{}.dtype is missing", name));
    if (value == "F32") return DType::f32;
    if (value == "F64") return DType::f64;
    if (value == "BF16") return DType::bf16;
    if (value == "U16") return DType::u16;
    if (value == "U8") return DType::u8;
    throw Error(ErrorKind::unsupported,
                fmt::format("{} stores {} as {}; only F32, F64, BF16, U16 and U8 can be read. "
                            "Convert the file to F32.",
                            path_.string(), name, value.get<std::string>()));
  }

  /// Fills the shape and returns its number of elements.
  std::uint64_t read_shape(Entry& entry, const Json& value) const {
    if (!value.is_array() || value.size() > Shape::kMaxRank) {
      refuse(fmt::format("{}.shape must be a list of at most {} numbers", entry.name,
                         Shape::kMaxRank));
    }
    std::array<std::int64_t, Shape::kMaxRank> extents{};
    std::uint64_t elements = 1;
    for (std::size_t axis = 0; axis < value.size(); ++axis) {
      constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max() / 8;
      const bool number = value[axis].is_number_unsigned();
      const std::uint64_t extent = number ? value[axis].get<std::uint64_t>() : 0;
      if (!number || (extent > 0 && elements > kLimit / extent) || extent > kLimit) {
        refuse(fmt::format("{}.shape[{}] is not a size", entry.name, axis));
      }
      extents[axis] = static_cast<std::int64_t>(extent);
      elements *= extent;
    }
    entry.shape = shape_of(std::span(extents).first(value.size()));
    return elements;
  }

  static Shape shape_of(std::span<const std::int64_t> e) {
    switch (e.size()) {
      case 0:
        return {};
      case 1:
        return {e[0]};
      case 2:
        return {e[0], e[1]};
      case 3:
        return {e[0], e[1], e[2]};
      default:
        return {e[0], e[1], e[2], e[3]};
    }
  }

  /// The format wants the data covered once and wholly: neither holes nor overlaps.
  void check_coverage() {
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t covered = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != covered) {
        refuse(fmt::format("{} begins at byte {} instead of {}", entry.name, entry.begin, covered));
      }
      covered = entry.end;
    }
    if (covered != data.size()) {
      refuse(fmt::format("its tensors end at byte {}, its data at {}", covered, data.size()));
    }
  }

  const std::filesystem::path& path_;
  std::span<const std::byte> bytes_;
};

}  // namespace

SafetensorsFile::SafetensorsFile(std::filesystem::path path, MappedFile file)
    : path_(std::move(path)), file_(std::move(file)) {}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile file(path, MappedFile(path));
  HeaderReader reader(path, file.file_.bytes());
  reader.read();
  for (const Entry& entry : reader.entries) {
    // Tensor is a mutable view; writing here would fault, as the header says.
    auto* const data = const_cast<std::byte*>(reader.data.data() + entry.begin);
    file.tensors_.push_back({entry.name, {data, entry.dtype, entry.shape}});
  }
  file.metadata_ = std::move(reader.metadata);
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
