// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <new>
#include <set>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/io/safetensors.h"

namespace athanor {

namespace {

constexpr std::size_t kDataAlignment_bytes = 8;

struct HashDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// An atomic file that also hashes what goes through it.
class HashingFile {
 public:
  explicit HashingFile(const std::filesystem::path& path) : file_(path), hash_(XXH3_createState()) {
    if (hash_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(hash_.get());
  }
  void write(std::span<const std::byte> bytes) {
    XXH3_64bits_update(hash_.get(), bytes.data(), bytes.size());
    file_.write(bytes);
  }
  std::uint64_t finish(Sync sync) {
    if (sync == Sync::now) {
      file_.commit();
    } else {
      file_.place();
    }
    return XXH3_64bits_digest(hash_.get());
  }

 private:
  AtomicFile file_;
  std::unique_ptr<XXH3_state_t, HashDeleter> hash_;
};

void check_tensors(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& entry : tensors) {
    if (entry.tensor.dtype == DType::i32) {
      throw Error(ErrorKind::internal,
                  fmt::format("The tensor {} is neither of floating-point numbers nor of bits.",
                              entry.name));
    }
    if (entry.name == "__metadata__" || !names.insert(entry.name).second) {
      throw Error(ErrorKind::internal,
                  fmt::format("Two tensors cannot be saved under the name {}.", entry.name));
    }
  }
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "F64";
    case DType::bf16:
      return "BF16";
    case DType::u16:
      return "U16";
    case DType::u8:
      return "U8";
    default:
      return "F32";
  }
}

/// The widest numbers first, so that every tensor's data is aligned for its type.
std::vector<const NamedTensor*> in_file_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& entry : tensors)
    order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return size_of(a->tensor.dtype) > size_of(b->tensor.dtype);
  });
  return order;
}

std::string header_text(const std::vector<const NamedTensor*>& order,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0;
  for (const NamedTensor* entry : order) {
    Json shape = Json::array();
    for (int axis = 0; axis < entry->tensor.shape.rank(); ++axis) {
      shape.push_back(entry->tensor.shape[axis]);
    }
    const std::int64_t end = offset + entry->tensor.bytes();
    header[entry->name] = {{"dtype", dtype_name(entry->tensor.dtype)},
                           {"shape", std::move(shape)},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  // The format allows spaces after the header for this.
  while ((sizeof(std::uint64_t) + text.size()) % kDataAlignment_bytes != 0)
    text.push_back(' ');
  return text;
}

void write_read_by(const ReadTensor& read, const NamedTensor& entry, HashingFile& file) {
  constexpr std::int64_t kPiece_elements = std::int64_t{1} << 20;
  const std::int64_t elements = entry.tensor.elements();
  std::vector<std::byte> piece;
  for (std::int64_t first = 0; first < elements; first += kPiece_elements) {
    const std::int64_t count = std::min(kPiece_elements, elements - first);
    piece.resize(static_cast<std::size_t>(count * size_of(entry.tensor.dtype)));
    read(entry, first, piece);
    file.write(piece);
  }
}

}  // namespace

std::uint64_t write_safetensors(const std::filesystem::path& path,
                                std::span<const NamedTensor> tensors,
                                const std::map<std::string, std::string>& metadata,
                                const ReadTensor& read, Sync sync) {
  check_tensors(tensors);
  const std::vector<const NamedTensor*> order = in_file_order(tensors);
  const std::string header = header_text(order, metadata);
  const std::uint64_t header_bytes = header.size();
  HashingFile file(path);
  file.write(std::as_bytes(std::span(&header_bytes, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedTensor* entry : order) {
    if (read) {
      write_read_by(read, *entry, file);
    } else {
      file.write(entry->tensor.byte_span());
    }
  }
  return file.finish(sync);
}

}  // namespace athanor
