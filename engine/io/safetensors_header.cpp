// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace athanor {

namespace {

/// The reference implementation's limit.
constexpr std::uint64_t kHeaderLimit_bytes = 100'000'000;

struct KnownType {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array kTypes = {
    KnownType{"F64", 8},  KnownType{"I64", 8},     KnownType{"U64", 8},    KnownType{"F32", 4},
    KnownType{"I32", 4},  KnownType{"U32", 4},     KnownType{"F16", 2},    KnownType{"BF16", 2},
    KnownType{"I16", 2},  KnownType{"U16", 2},     KnownType{"I8", 1},     KnownType{"U8", 1},
    KnownType{"BOOL", 1}, KnownType{"F8_E4M3", 1}, KnownType{"F8_E5M2", 1}};

struct Entry {
  std::string name;
  KnownType type;
  Shape shape;
  std::uint64_t begin;
  std::uint64_t end;
};

class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, std::span<const std::byte> bytes)
      : path_(path), bytes_(bytes) {}

  void read() {
    const KeyedJson header = parse();
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(value);
      } else {
        entries_.push_back(read_entry(name, value));
      }
    }
    check_coverage();
  }

  SafetensorsHeader result() {
    SafetensorsHeader header{.entries = {}, .metadata = std::move(metadata_)};
    for (const Entry& entry : entries_) {
      header.entries.push_back({.name = entry.name,
                                .type = std::string(entry.type.name),
                                .shape = entry.shape,
                                .data = data_.subspan(entry.begin, entry.end - entry.begin)});
    }
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::damaged, path_.string() + " is not a usable safetensors file: " + what +
                                        ". Use another copy or an earlier checkpoint.");
  }

  KeyedJson parse() {
    std::uint64_t header_bytes = 0;
    if (bytes_.size() < sizeof(header_bytes)) {
      refuse(fmt::format("it has only {} bytes", bytes_.size()));
    }
    std::memcpy(&header_bytes, bytes_.data(), sizeof(header_bytes));
    const std::span<const std::byte> rest = bytes_.subspan(sizeof(header_bytes));
    if (header_bytes > rest.size() || header_bytes > kHeaderLimit_bytes) {
      refuse(fmt::format("its header claims {} bytes of {}", header_bytes, rest.size()));
    }
    data_ = rest.subspan(header_bytes);
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), header_bytes);
    if (!text.starts_with('{')) refuse("its header is not a JSON object");
    return parse_keyed_json(text, path_.string() + ", header");
  }

  void read_metadata(const KeyedJson& value) {
    if (!value.is_object()) refuse("__metadata__ is not an object");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) refuse(fmt::format("__metadata__.{} is not a text", key));
      metadata_[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const KeyedJson& value) const {
    if (!value.is_object()) refuse(fmt::format("the entry {} is not an object", name));
    Entry entry{.name = name,
                .type = read_type(name, value.value("dtype", KeyedJson())),
                .shape = {},
                .begin = 0,
                .end = 0};
    const std::uint64_t elements = read_shape(entry, value.value("shape", KeyedJson()));
    const KeyedJson offsets = value.value("data_offsets", KeyedJson());
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      refuse(fmt::format("{}.data_offsets must be two numbers", name));
    }
    entry.begin = offsets[0].get<std::uint64_t>();
    entry.end = offsets[1].get<std::uint64_t>();
    const std::uint64_t element_bytes = entry.type.bytes;
    if (entry.begin > entry.end || entry.end > data_.size()) {
      refuse(fmt::format("{} lies at bytes {} to {}, but the data has {}", name, entry.begin,
                         entry.end, data_.size()));
    }
    if ((entry.end - entry.begin) % element_bytes != 0 ||
        (entry.end - entry.begin) / element_bytes != elements) {
      refuse(fmt::format("{} has {} bytes, which its shape {} does not need", name,
                         entry.end - entry.begin, entry.shape.text()));
    }
    return entry;
  }

  KnownType read_type(const std::string& name, const KeyedJson& value) const {
    if (!value.is_string()) refuse(fmt::format("{}.dtype is missing", name));
    const auto text = value.get<std::string>();
    const auto* const known = std::ranges::find(kTypes, text, &KnownType::name);
    if (known != kTypes.end()) return *known;
    throw Error(ErrorKind::unsupported,
                fmt::format("{} stores {} as {}, which this program does not know. Convert the "
                            "file to F32.",
                            path_.string(), name, text.substr(0, 80)));
  }

  /// Fills the shape and returns its number of elements.
  std::uint64_t read_shape(Entry& entry, const KeyedJson& value) const {
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

  /// The format wants the data_ covered once and wholly: neither holes nor overlaps.
  void check_coverage() {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t covered = 0;
    for (const Entry& entry : entries_) {
      if (entry.begin != covered) {
        refuse(fmt::format("{} begins at byte {} instead of {}", entry.name, entry.begin, covered));
      }
      covered = entry.end;
    }
    if (covered != data_.size()) {
      refuse(fmt::format("its tensors end at byte {}, its data at {}", covered, data_.size()));
    }
  }

  const std::filesystem::path& path_;
  std::span<const std::byte> bytes_;
  std::vector<Entry> entries_;  ///< in the order of their data_
  std::map<std::string, std::string> metadata_;
  std::span<const std::byte> data_;
};

}  // namespace

SafetensorsHeader read_safetensors_header(const std::filesystem::path& path,
                                          std::span<const std::byte> file) {
  HeaderReader reader(path, file);
  reader.read();
  return reader.result();
}

}  // namespace athanor
