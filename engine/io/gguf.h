// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/file.h"
#include "engine/io/stored_tensor.h"

namespace athanor {

/// The types of GGUF's values, with its own numbers.
enum class GgufType : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  list,
  u64,
  i64,
  f64,
};

/// A mapped GGUF file, version 2 or 3, little-endian
/// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): metadata and tensors, all of whose
/// counts, lengths and offsets were checked against the file. Nothing of it is copied before it is
/// asked for. Throws damaged naming the file, the place and what is wrong, unsupported for other
/// versions and for big-endian files.
class GgufFile {
 public:
  static GgufFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Keeps the tensors' data.
  std::shared_ptr<const MappedFile> mapping() const { return file_; }

  bool has(const std::string& key) const { return values_.contains(key); }
  std::vector<std::string> keys() const;
  /// The value of `key`; absent when there is none. Throws damaged when it is of another kind: a
  /// whole number of any type, any number, and so on.
  std::optional<std::int64_t> integer(const std::string& key) const;
  std::optional<double> real(const std::string& key) const;
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<std::vector<std::int32_t>> integers(const std::string& key) const;
  std::optional<std::vector<float>> reals(const std::string& key) const;
  std::optional<std::vector<std::string>> texts(const std::string& key) const;

 private:
  friend class GgufParser;
  struct Value {
    GgufType type = GgufType::u8;
    GgufType element = GgufType::u8;  ///< of a list
    std::uint64_t count = 1;
    std::span<const std::byte> bytes;  ///< as they lie in the file, from the first number or text
  };

  GgufFile(std::filesystem::path path, std::shared_ptr<const MappedFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}
  const Value* find(const std::string& key) const;
  [[noreturn]] void refuse(const std::string& key, const char* wanted) const;
  const Value* find_list(const std::string& key) const;

  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, Value> values_;
  std::vector<StoredTensor> tensors_;
};

/// The metadata of a GGUF file to be written, in the order of the calls. Every key once.
class GgufMetadata {
 public:
  void add(const std::string& key, std::uint32_t value);
  void add(const std::string& key, float value);
  void add(const std::string& key, bool value);
  void add(const std::string& key, std::string_view value);
  void add(const std::string& key, std::span<const std::string> values);
  void add(const std::string& key, std::span<const std::int32_t> values);
  void add(const std::string& key, std::span<const float> values);
  void add(const std::string& key, const char* value) { add(key, std::string_view(value)); }

  const std::string& bytes() const { return bytes_; }
  std::uint64_t count() const { return count_; }

 private:
  void begin(const std::string& key, GgufType type);
  void begin_list(const std::string& key, GgufType element, std::size_t count);

  std::string bytes_;
  std::uint64_t count_ = 0;
};

/// What a tensor of a GGUF file to be written is.
struct GgufTensor {
  std::string name;
  NumberFormat format = NumberFormat::f32;
  Shape shape;  ///< outermost first; rows are whole blocks

  std::int64_t bytes() const;
};

/// Writes a GGUF file (version 3) from start to end, whole or not at all.
class GgufWriter {
 public:
  /// Writes everything before the tensors' data.
  GgufWriter(const std::filesystem::path& path, const GgufMetadata& metadata,
             std::span<const GgufTensor> tensors);
  /// The next bytes of the tensors' data, in their order, without what lies between them.
  void write(std::span<const std::byte> bytes);
  /// To be called when all data was written.
  void commit();

  /// Bytes that the file will have.
  static std::int64_t file_bytes(const GgufMetadata& metadata, std::span<const GgufTensor> tensors);

 private:
  void finish_tensors();

  AtomicFile file_;
  std::vector<std::int64_t> sizes_;  ///< of the tensors, bytes
  std::size_t tensor_ = 0;           ///< being written
  std::int64_t written_ = 0;         ///< bytes of it
};

}  // namespace athanor
