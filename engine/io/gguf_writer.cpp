// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>

#include "engine/io/gguf.h"
#include "engine/io/gguf_layout.h"

namespace athanor {

namespace {

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, std::string_view text) {
  append(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

std::int64_t padding_after(std::int64_t bytes) {
  constexpr std::int64_t kStep = gguf::kUsualAlignment_bytes;
  return (kStep - bytes % kStep) % kStep;
}

std::string head_of(const GgufMetadata& metadata, std::span<const GgufTensor> tensors) {
  std::string head(gguf::kMagic);
  append(head, gguf::kVersion);
  append(head, static_cast<std::uint64_t>(tensors.size()));
  append(head, metadata.count());
  head += metadata.bytes();
  std::int64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    append_text(head, tensor.name);
    append(head, static_cast<std::uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis)
      append(head, static_cast<std::uint64_t>(tensor.shape[axis]));
    append(head, gguf::number_of(tensor.format));
    append(head, static_cast<std::uint64_t>(offset));
    offset += tensor.bytes() + padding_after(tensor.bytes());
  }
  head.append(static_cast<std::size_t>(padding_after(static_cast<std::int64_t>(head.size()))),
              '\0');
  return head;
}

}  // namespace

void GgufMetadata::begin(const std::string& key, GgufType type) {
  append_text(bytes_, key);
  append(bytes_, type);
  ++count_;
}

void GgufMetadata::begin_list(const std::string& key, GgufType element, std::size_t count) {
  begin(key, GgufType::list);
  append(bytes_, element);
  append(bytes_, static_cast<std::uint64_t>(count));
}

void GgufMetadata::add(const std::string& key, std::uint32_t value) {
  begin(key, GgufType::u32);
  append(bytes_, value);
}

void GgufMetadata::add(const std::string& key, float value) {
  begin(key, GgufType::f32);
  append(bytes_, value);
}

void GgufMetadata::add(const std::string& key, bool value) {
  begin(key, GgufType::boolean);
  append(bytes_, static_cast<std::uint8_t>(value));
}

void GgufMetadata::add(const std::string& key, std::string_view value) {
  begin(key, GgufType::text);
  append_text(bytes_, value);
}

void GgufMetadata::add(const std::string& key, std::span<const std::string> values) {
  begin_list(key, GgufType::text, values.size());
  for (const std::string& value : values)
    append_text(bytes_, value);
}

void GgufMetadata::add(const std::string& key, std::span<const std::int32_t> values) {
  begin_list(key, GgufType::i32, values.size());
  for (const std::int32_t value : values)
    append(bytes_, value);
}

void GgufMetadata::add(const std::string& key, std::span<const float> values) {
  begin_list(key, GgufType::f32, values.size());
  for (const float value : values)
    append(bytes_, value);
}

std::int64_t GgufTensor::bytes() const {
  return row_bytes(format, shape.elements());
}

GgufWriter::GgufWriter(const std::filesystem::path& path, const GgufMetadata& metadata,
                       std::span<const GgufTensor> tensors)
    : file_(path) {
  for (const GgufTensor& tensor : tensors)
    sizes_.push_back(tensor.bytes());
  file_.write(head_of(metadata, tensors));
  finish_tensors();
}

void GgufWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    assert(tensor_ < sizes_.size());
    const auto left = static_cast<std::size_t>(sizes_[tensor_] - written_);
    const auto part = bytes.first(std::min(left, bytes.size()));
    file_.write(part);
    written_ += static_cast<std::int64_t>(part.size());
    bytes = bytes.subspan(part.size());
    finish_tensors();
  }
}

void GgufWriter::finish_tensors() {
  while (tensor_ < sizes_.size() && written_ == sizes_[tensor_]) {
    file_.write(std::string(static_cast<std::size_t>(padding_after(written_)), '\0'));
    ++tensor_;
    written_ = 0;
  }
}

void GgufWriter::commit() {
  assert(tensor_ == sizes_.size());
  file_.commit();
}

std::int64_t GgufWriter::file_bytes(const GgufMetadata& metadata,
                                    std::span<const GgufTensor> tensors) {
  auto bytes = static_cast<std::int64_t>(head_of(metadata, tensors).size());
  for (const GgufTensor& tensor : tensors)
    bytes += tensor.bytes() + padding_after(tensor.bytes());
  return bytes;
}

}  // namespace athanor
