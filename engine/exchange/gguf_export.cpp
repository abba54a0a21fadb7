// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>

#include "engine/exchange/export_parts.h"
#include "engine/exchange/gguf_settings.h"
#include "engine/exchange/gguf_tokenizer.h"
#include "engine/io/gguf.h"

namespace athanor {

namespace {

/// llama.cpp's llama_ftype: what most of a file's numbers are.
std::uint32_t file_type_of(NumberFormat type) {
  switch (type) {
    case NumberFormat::f16:
      return 1;
    case NumberFormat::q4_0:
      return 2;
    case NumberFormat::q8_0:
      return 7;
    case NumberFormat::bf16:
      return 32;
    default:
      return 0;
  }
}

GgufMetadata metadata_of(const ExportSource& source, Architecture architecture, NumberFormat type) {
  constexpr std::uint32_t kQuantization_version = 2;
  GgufMetadata metadata;
  add_gguf_settings(metadata, source.model, architecture);
  metadata.add("general.type", "model");
  metadata.add("general.name", std::string_view(source.card.name));
  metadata.add("general.file_type", file_type_of(type));
  metadata.add("general.quantization_version", kQuantization_version);
  add_gguf_tokenizer(metadata, source.tokenizer, source.model.vocabulary, source.card);
  return metadata;
}

void write_tensor(const ExportList& list, const ForeignTensor& tensor, NumberFormat format,
                  GgufWriter& writer, ExportMeter& meter) {
  constexpr std::int64_t kPiece_elements = 1 << 20;
  const std::int64_t elements = tensor.row_elements();
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, kPiece_elements / elements);
  std::vector<float> numbers;
  std::vector<std::byte> stored;
  for (std::int64_t first = 0; first < tensor.rows(); first += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, tensor.rows() - first);
    numbers.resize(static_cast<std::size_t>(rows * elements));
    for (std::int64_t row = 0; row < rows; ++row) {
      list.read(tensor, tensor.own_row(first + row) * elements,
                std::span(numbers).subspan(static_cast<std::size_t>(row * elements),
                                           static_cast<std::size_t>(elements)));
    }
    stored.resize(static_cast<std::size_t>(row_bytes(format, rows * elements)));
    store(format, numbers, stored, tensor.name);
    writer.write(stored);
    meter.add(static_cast<std::int64_t>(stored.size()));
  }
}

/// Ollama's build file (https://docs.ollama.com/modelfile).
std::string modelfile_of(const ExportSource& source, const std::string& file) {
  std::string text = fmt::format("FROM ./{}\nPARAMETER num_ctx {}\n", file, source.model.context);
  // With a chat template in the file, Ollama makes its own of that.
  if (source.card.chat_template.empty()) text += "TEMPLATE \"\"\"{{ .Prompt }}\"\"\"\n";
  return text;
}

}  // namespace

NumberFormat gguf_format(const ForeignTensor& tensor, NumberFormat type) {
  // llama.cpp computes with norms and biases in F32.
  if (tensor.shape.rank() == 1) return NumberFormat::f32;
  if (tensor.row_elements() % elements_per_block(type) != 0) return NumberFormat::f16;
  // Rounding hurts most where words become numbers and numbers words.
  const bool words = tensor.name == "token_embd.weight" || tensor.name == "output.weight";
  return type == NumberFormat::q4_0 && words ? NumberFormat::q8_0 : type;
}

void write_gguf(const ExportSource& source, const ExportList& list, NumberFormat type,
                const std::filesystem::path& folder, ExportMeter& meter) {
  const std::string name = fmt::format("{}-{}.gguf", file_name_of(source.card.name), name_of(type));
  std::vector<GgufTensor> tensors;
  for (const ForeignTensor& tensor : list.tensors())
    tensors.push_back({tensor.name, gguf_format(tensor, type), tensor.shape});
  GgufWriter writer(folder / name, metadata_of(source, list.architecture(), type), tensors);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    write_tensor(list, list.tensors()[i], tensors[i].format, writer, meter);
  writer.commit();
  write_file_atomically(folder / "Modelfile", modelfile_of(source, name));
}

}  // namespace athanor
