// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "engine/base/error.h"
#include "engine/io/gguf.h"
#include "engine/io/gguf_layout.h"

namespace athanor {

namespace {

constexpr std::array<std::uint64_t, 13> kValue_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// Of numbers and truth values; 0 of texts and lists.
std::uint64_t bytes_of(GgufType type) {
  return kValue_bytes[static_cast<std::size_t>(type)];
}

template <class T>
T number_at(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

bool is_whole(GgufType type) {
  return type <= GgufType::i32 || type == GgufType::u64 || type == GgufType::i64;
}

/// Absent for a number of 64 bits that has no place in a signed one.
std::optional<std::int64_t> whole_number(GgufType type, std::span<const std::byte> bytes) {
  switch (type) {
    case GgufType::u8:
      return number_at<std::uint8_t>(bytes);
    case GgufType::i8:
      return number_at<std::int8_t>(bytes);
    case GgufType::u16:
      return number_at<std::uint16_t>(bytes);
    case GgufType::i16:
      return number_at<std::int16_t>(bytes);
    case GgufType::u32:
      return number_at<std::uint32_t>(bytes);
    case GgufType::i32:
      return number_at<std::int32_t>(bytes);
    case GgufType::i64:
      return number_at<std::int64_t>(bytes);
    default:
      break;
  }
  const auto value = number_at<std::uint64_t>(bytes);
  if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return {};
  return static_cast<std::int64_t>(value);
}

std::string printable(std::string_view name) {
  constexpr std::size_t kMost = 80;
  std::string text;
  for (const char letter : name.substr(0, kMost))
    text.push_back(letter >= ' ' && letter <= '~' ? letter : '?');
  return text;
}

}  // namespace

/// Walks over a file once, from start to end.
class GgufParser {
 public:
  explicit GgufParser(GgufFile& file) : file_(file), bytes_(file.file_->bytes()) {}

  void parse() {
    read_version();
    const std::uint64_t tensors = read_count("tensors", gguf::kLeastTensor_bytes);
    const std::uint64_t values = read_count("metadata values", gguf::kLeastValue_bytes);
    for (std::uint64_t i = 0; i < values; ++i)
      read_pair();
    for (std::uint64_t i = 0; i < tensors; ++i)
      read_tensor();
    place_tensors();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::damaged,
                fmt::format("{} is not a usable GGUF file: at byte {}, {}. Get the file again, or "
                            "choose another.",
                            file_.path_.string(), at_, what));
  }

  std::span<const std::byte> take(std::uint64_t count, const std::string& what) {
    if (count > bytes_.size() - at_) {
      refuse(fmt::format("{} would need {} bytes and only {} are left", what, count,
                         bytes_.size() - at_));
    }
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  template <class T>
  T take_number(const std::string& what) {
    return number_at<T>(take(sizeof(T), what));
  }

  std::string_view take_text(const std::string& what) {
    const auto length = take_number<std::uint64_t>(what);
    const auto taken = take(length, what);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  void read_version() {
    const auto magic = take(gguf::kMagic.size(), "the first word");
    if (std::memcmp(magic.data(), gguf::kMagic.data(), magic.size()) != 0) {
      at_ = 0;
      refuse("it does not begin with \"GGUF\"");
    }
    const auto version = take_number<std::uint32_t>("the version");
    if (version == 2 || version == gguf::kVersion) return;
    const bool swapped = (version & 0xFFFFU) == 0 && version != 0;
    throw Error(ErrorKind::unsupported,
                swapped ? fmt::format("{} is a big-endian GGUF file; only little-endian ones can "
                                      "be read. Convert it on the machine it is from.",
                                      file_.path_.string())
                        : fmt::format("{} is a GGUF file of version {}; versions 2 and 3 can be "
                                      "read. Convert it again with today's llama.cpp.",
                                      file_.path_.string(), version));
  }

  /// A count of what takes `least_bytes` each.
  std::uint64_t read_count(const char* what, std::uint64_t least_bytes) {
    const auto count = take_number<std::uint64_t>(fmt::format("the number of {}", what));
    if (count > (bytes_.size() - at_) / least_bytes) {
      refuse(fmt::format("it claims {} {}, for which it is too short", count, what));
    }
    return count;
  }

  GgufType take_type(const std::string& what) {
    const auto type = take_number<std::uint32_t>(what);
    if (type >= kValue_bytes.size()) {
      refuse(fmt::format("{} has the type {}, which there is not", what, type));
    }
    return static_cast<GgufType>(type);
  }

  void skip(GgufType type, std::uint64_t count, const std::string& what) {
    if (type == GgufType::text) {
      for (std::uint64_t i = 0; i < count; ++i)
        take_text(what);
      return;
    }
    if (type == GgufType::list) refuse(fmt::format("{} is a list of lists", what));
    // Divided, not multiplied: the product may not fit.
    const std::uint64_t left = bytes_.size() - at_;
    if (count > left / bytes_of(type)) {
      refuse(fmt::format("{} claims {} values and only {} bytes are left", what, count, left));
    }
    at_ += count * bytes_of(type);
  }

  void read_pair() {
    const std::string key(take_text("a key"));
    const std::string what = fmt::format("the value of \"{}\"", printable(key));
    GgufFile::Value value{.type = take_type(what), .element = {}, .count = 1, .bytes = {}};
    if (value.type == GgufType::list) {
      value.element = take_type(what);
      value.count = take_number<std::uint64_t>(what);
    }
    const std::size_t begin = at_;
    skip(value.type == GgufType::list ? value.element : value.type, value.count, what);
    value.bytes = bytes_.subspan(begin, at_ - begin);
    if (!file_.values_.emplace(key, value).second) {
      refuse(fmt::format("the key \"{}\" comes a second time", printable(key)));
    }
  }

  void read_tensor() {
    const std::string name(take_text("a tensor's name"));
    const std::string what = fmt::format("the tensor \"{}\"", printable(name));
    const auto rank = take_number<std::uint32_t>(what);
    if (rank > Shape::kMaxRank) {
      refuse(
          fmt::format("{} has {} dimensions; at most {} can be read", what, rank, Shape::kMaxRank));
    }
    StoredTensor tensor{.name = name, .type = {}, .format = {}, .shape = {}, .data = {}};
    tensor.shape = read_shape(rank, what);
    const auto type = take_number<std::uint32_t>(what);
    tensor.type = gguf::type_name(type);
    tensor.format = gguf::format_of(type);
    offsets_.push_back(take_number<std::uint64_t>(what));
    file_.tensors_.push_back(std::move(tensor));
  }

  /// The file has the innermost first.
  Shape read_shape(std::uint32_t rank, const std::string& what) {
    constexpr std::uint64_t kLimit = std::numeric_limits<std::int64_t>::max() / 8;
    std::array<std::int64_t, Shape::kMaxRank> e{};
    std::uint64_t elements = 1;
    for (std::uint32_t axis = 0; axis < rank; ++axis) {
      const auto extent = take_number<std::uint64_t>(what);
      if (extent > kLimit || (extent > 0 && elements > kLimit / extent)) {
        refuse(fmt::format("{} has an extent of {}", what, extent));
      }
      elements *= extent;
      e[rank - 1 - axis] = static_cast<std::int64_t>(extent);
    }
    switch (rank) {
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

  std::uint64_t alignment() const {
    const std::int64_t value =
        file_.integer("general.alignment").value_or(gguf::kUsualAlignment_bytes);
    constexpr std::int64_t kMost = 1 << 20;
    if (value < 1 || value > kMost || !std::has_single_bit(static_cast<std::uint64_t>(value))) {
      refuse(fmt::format("\"general.alignment\" is {}, which no data is aligned to", value));
    }
    return static_cast<std::uint64_t>(value);
  }

  void place_tensors() {
    const std::uint64_t step = alignment();
    const std::uint64_t padding = (step - at_ % step) % step;
    // A file without tensors may end before its padding.
    if (!file_.tensors_.empty()) take(padding, "the padding before the data");
    const auto data = bytes_.subspan(at_);
    for (std::size_t i = 0; i < file_.tensors_.size(); ++i)
      place(file_.tensors_[i], offsets_[i], step, data);
    check_overlaps();
  }

  void place(StoredTensor& tensor, std::uint64_t offset, std::uint64_t step,
             std::span<const std::byte> data) const {
    if (!tensor.format) return;
    const std::string what = fmt::format("the tensor \"{}\"", printable(tensor.name));
    const std::int64_t row = tensor.shape.rank() == 0 ? 1 : tensor.shape[tensor.shape.rank() - 1];
    if (row % elements_per_block(*tensor.format) != 0) {
      refuse(fmt::format("{} has rows of {} numbers, which are not whole blocks of {}", what, row,
                         tensor.type));
    }
    const auto size =
        static_cast<std::uint64_t>(row_bytes(*tensor.format, tensor.shape.elements()));
    if (offset % step != 0 || offset > data.size() || size > data.size() - offset) {
      refuse(fmt::format("{} lies at byte {} of the data and takes {}, but there are {}", what,
                         offset, size, data.size()));
    }
    tensor.data = data.subspan(offset, size);
  }

  void check_overlaps() const {
    std::vector<const StoredTensor*> order;
    for (const StoredTensor& tensor : file_.tensors_) {
      if (!tensor.data.empty()) order.push_back(&tensor);
    }
    std::ranges::sort(order, {}, [](const StoredTensor* tensor) { return tensor->data.data(); });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const StoredTensor& before = *order[i - 1];
      if (before.data.data() + before.data.size() > order[i]->data.data()) {
        refuse(fmt::format("the tensors \"{}\" and \"{}\" overlap", printable(before.name),
                           printable(order[i]->name)));
      }
    }
  }

  GgufFile& file_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::vector<std::uint64_t> offsets_;
};

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile file(path, std::make_shared<const MappedFile>(path));
  GgufParser(file).parse();
  return file;
}

std::vector<std::string> GgufFile::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values_)
    keys.push_back(key);
  return keys;
}

const GgufFile::Value* GgufFile::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void GgufFile::refuse(const std::string& key, const char* wanted) const {
  throw Error(ErrorKind::damaged,
              fmt::format("{} is not a usable GGUF file: its value \"{}\" is not {}. Get the file "
                          "again, or choose another.",
                          path_.string(), key, wanted));
}

std::optional<std::int64_t> GgufFile::integer(const std::string& key) const {
  const Value* const value = find(key);
  if (value == nullptr) return {};
  if (!is_whole(value->type)) refuse(key, "a whole number");
  const std::optional<std::int64_t> number = whole_number(value->type, value->bytes);
  if (!number) refuse(key, "a number that can be used");
  return number;
}

std::optional<double> GgufFile::real(const std::string& key) const {
  const Value* const value = find(key);
  if (value == nullptr) return {};
  if (value->type == GgufType::f32) return number_at<float>(value->bytes);
  if (value->type == GgufType::f64) return number_at<double>(value->bytes);
  if (!is_whole(value->type)) refuse(key, "a number");
  return static_cast<double>(*integer(key));
}

std::optional<bool> GgufFile::boolean(const std::string& key) const {
  const Value* const value = find(key);
  if (value == nullptr) return {};
  if (value->type != GgufType::boolean) refuse(key, "true or false");
  return number_at<std::uint8_t>(value->bytes) != 0;
}

namespace {

std::string_view text_at(std::span<const std::byte> bytes) {
  const auto length = number_at<std::uint64_t>(bytes);
  return {reinterpret_cast<const char*>(bytes.data()) + sizeof length, length};
}

}  // namespace

std::optional<std::string> GgufFile::text(const std::string& key) const {
  const Value* const value = find(key);
  if (value == nullptr) return {};
  if (value->type != GgufType::text) refuse(key, "a text");
  return std::string(text_at(value->bytes));
}

const GgufFile::Value* GgufFile::find_list(const std::string& key) const {
  const Value* const value = find(key);
  if (value != nullptr && value->type != GgufType::list) refuse(key, "a list");
  return value;
}

std::optional<std::vector<std::int32_t>> GgufFile::integers(const std::string& key) const {
  const Value* const value = find_list(key);
  if (value == nullptr) return {};
  if (!is_whole(value->element)) refuse(key, "a list of whole numbers");
  std::vector<std::int32_t> numbers(value->count);
  const std::uint64_t step = bytes_of(value->element);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::optional<std::int64_t> number =
        whole_number(value->element, value->bytes.subspan(i * step));
    using Limits = std::numeric_limits<std::int32_t>;
    if (!number || *number < Limits::min() || *number > Limits::max())
      refuse(key, "a list of numbers that can be used");
    numbers[i] = static_cast<std::int32_t>(*number);
  }
  return numbers;
}

std::optional<std::vector<float>> GgufFile::reals(const std::string& key) const {
  const Value* const value = find_list(key);
  if (value == nullptr) return {};
  if (value->element != GgufType::f32) refuse(key, "a list of numbers");
  std::vector<float> numbers(value->count);
  if (!numbers.empty()) std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
  return numbers;
}

std::optional<std::vector<std::string>> GgufFile::texts(const std::string& key) const {
  const Value* const value = find_list(key);
  if (value == nullptr) return {};
  if (value->element != GgufType::text) refuse(key, "a list of texts");
  std::vector<std::string> texts(value->count);
  std::size_t at = 0;
  for (std::string& text : texts) {
    text = text_at(value->bytes.subspan(at));
    at += sizeof(std::uint64_t) + text.size();
  }
  return texts;
}

}  // namespace athanor
