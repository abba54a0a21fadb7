// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/export_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/base/atomic_folder.h"
#include "engine/base/error.h"
#include "engine/base/settings.h"
#include "engine/exchange/export_parts.h"
#include "engine/exchange/gguf_settings.h"

namespace athanor {

namespace {

constexpr std::array kHuggingFaceTypes = {NumberFormat::f32, NumberFormat::bf16};
constexpr std::array kGgufTypes = {NumberFormat::f32, NumberFormat::f16, NumberFormat::bf16,
                                   NumberFormat::q8_0, NumberFormat::q4_0};

void check_type(const ExportOptions& options) {
  const std::span<const NumberFormat> types = export_types(options.kind);
  if (std::ranges::find(types, options.type) != types.end()) return;
  std::vector<std::string_view> names;
  for (const NumberFormat type : types)
    names.push_back(name_of(type));
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} files cannot be written as {}. Choose {}.",
                          options.kind == FileKind::gguf ? "GGUF" : "Hugging Face",
                          name_of(options.type), choices_text(names)));
}

std::vector<ForeignTensor> tensors_of(const ModelConfig& model, FileKind kind) {
  const Architecture architecture = fitting_architecture(model);
  if (kind == FileKind::gguf) check_gguf_has(model);
  return foreign_tensors(model, ParameterTable(model), architecture, kind);
}

std::int64_t bytes_of(const std::vector<ForeignTensor>& tensors, const ExportOptions& options) {
  std::int64_t bytes = 0;
  for (const ForeignTensor& tensor : tensors) {
    const NumberFormat format =
        options.kind == FileKind::gguf ? gguf_format(tensor, options.type) : options.type;
    bytes += row_bytes(format, tensor.shape.elements());
  }
  return bytes;
}

}  // namespace

ExportList::ExportList(const ExportSource& source, FileKind kind)
    : architecture_(fitting_architecture(source.model)),
      tensors_(tensors_of(source.model, kind)),
      weights_(source.weights) {}

void ExportList::read(const ForeignTensor& tensor, std::int64_t first, std::span<float> to) const {
  weights_.read(tensor.parameter, tensor.first + first, to);
}

void store(NumberFormat format, std::span<const float> numbers, std::span<std::byte> to,
           const std::string& tensor) {
  if (narrow(format, numbers, to)) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("The tensor {} has numbers that {} cannot hold. Choose f32 or bf16.",
                          tensor, name_of(format)));
}

std::string file_name_of(const std::string& name) {
  std::string made;
  for (const char letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
                       letter == '.' || letter == '-';
    if (plain) {
      made.push_back(letter);
    } else if (!made.empty() && made.back() != '-') {
      made.push_back('-');
    }
  }
  while (!made.empty() && (made.back() == '-' || made.back() == '.'))
    made.pop_back();
  const std::size_t start = made.find_first_not_of(".-");
  return start == std::string::npos ? "model" : made.substr(start, 80);
}

std::span<const NumberFormat> export_types(FileKind kind) {
  if (kind == FileKind::gguf) return kGgufTypes;
  return kHuggingFaceTypes;
}

std::int64_t exported_bytes(const ModelConfig& model, const ExportOptions& options) {
  check_type(options);
  return bytes_of(tensors_of(model, options.kind), options);
}

void export_model(const ExportSource& source, const ExportOptions& options,
                  const std::filesystem::path& folder, const CancelToken& cancel,
                  const ProgressCallback& progress) {
  check_type(options);
  const ExportList list(source, options.kind);
  const std::int64_t bytes = bytes_of(list.tensors(), options);
  // Headers, tokenizer and settings beside the weights.
  constexpr std::int64_t kBeside_bytes = 32 << 20;
  AtomicFolder made(folder, bytes + kBeside_bytes);
  ExportMeter meter(bytes, cancel, progress);
  if (options.kind == FileKind::gguf) {
    write_gguf(source, list, options.type, made.path(), meter);
  } else {
    write_hugging_face(source, list, options.type, made.path(), meter);
  }
  cancel.throw_if_requested();
  made.commit();
}

}  // namespace athanor
