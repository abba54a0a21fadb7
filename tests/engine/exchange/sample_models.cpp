// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/exchange/sample_models.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "engine/exchange/hugging_face_config.h"
#include "engine/io/safetensors.h"
#include "engine/tensor/bf16.h"
#include "tests/support/foreign_computer.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

/// FNV-1a, 32 bits.
std::uint32_t name_hash(const std::string& name) {
  std::uint32_t value = 0x811C9DC5;
  for (const char letter : name)
    value = (value ^ static_cast<unsigned char>(letter)) * 0x01000193U;
  return value;
}

std::vector<float> sample_numbers(const std::string& name, std::int64_t count) {
  const bool norm = name.find("norm") != std::string::npos;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint32_t word =
        (name_hash(name) + static_cast<std::uint32_t>(i)) * std::uint32_t{2654435761};
    const float value = static_cast<float>(word >> 8) * 0x1p-24F - 0.5F;
    numbers[i] = norm ? 1 + value * 0.25F : value;
  }
  return numbers;
}

}  // namespace

std::vector<SampleModel> sample_models() {
  const char* const root = std::getenv("ATHANOR_SOURCE_DIR");
  if (root == nullptr) throw std::runtime_error("ATHANOR_SOURCE_DIR is not set");
  std::vector<SampleModel> models;
  for (const Json& one : read_json_file(fs::path(root) / "tests/golden/model_logits.json")) {
    models.push_back({.name = one.at("name").get<std::string>(),
                      .config = one.at("config"),
                      .tokens = one.at("tokens").get<std::vector<std::int32_t>>(),
                      .logits = one.at("logits").get<std::vector<float>>()});
  }
  return models;
}

SampleModel sample_model(const std::string& name) {
  for (SampleModel& model : sample_models()) {
    if (model.name == name) return std::move(model);
  }
  throw std::runtime_error("no sample " + name);
}

std::vector<SampleTensor> sample_tensors(const Json& config) {
  const ForeignSettings settings =
      read_hugging_face_config(parse_keyed_json(config.dump(), "config.json"), {}, "config.json");
  const ParameterTable table(settings.model);
  std::vector<SampleTensor> tensors;
  for (const ForeignTensor& tensor :
       foreign_tensors(settings.model, table, settings.architecture, FileKind::hugging_face)) {
    tensors.push_back(
        {tensor.name, tensor.shape, sample_numbers(tensor.name, tensor.shape.elements())});
  }
  return tensors;
}

void write_sample(const fs::path& folder, const Json& config) {
  write_sample(folder, config, sample_tensors(config));
}

void write_sample(const fs::path& folder, const Json& config,
                  const std::vector<SampleTensor>& tensors, DType type) {
  create_folders(folder);
  write_file_atomically(folder / "config.json", config.dump(1));
  Tokenizer(std::vector<Tokenizer::Merge>{{104, 101}, {108, 108}, {256, 257}})
      .save(folder / "tokenizer.json");
  write_tensors(folder / "model.safetensors", tensors, type);
}

void write_tensors(const fs::path& file, const std::vector<SampleTensor>& tensors, DType type) {
  std::vector<std::vector<Bf16>> halves(tensors.size());
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<float> numbers = tensors[i].numbers;
    halves[i].resize(numbers.size());
    std::ranges::transform(numbers, halves[i].begin(), nearest_bf16);
    const void* const data = type == DType::bf16 ? static_cast<const void*>(halves[i].data())
                                                 : tensors[i].numbers.data();
    auto* const bytes = const_cast<std::byte*>(static_cast<const std::byte*>(data));
    named.push_back({tensors[i].name, {bytes, type, tensors[i].shape}});
  }
  write_safetensors(file, named, {{"format", "pt"}});
}

std::vector<float> numbers_of(const ForeignWeights& weights, int parameter) {
  const Shape shape = weights.parameters().all()[static_cast<std::size_t>(parameter)].shape;
  std::vector<float> numbers(static_cast<std::size_t>(shape.elements()));
  weights.read(parameter, 0, numbers);
  return numbers;
}

std::vector<std::vector<float>> all_numbers(const ForeignWeights& weights) {
  std::vector<std::vector<float>> all;
  for (int i = 0; i < static_cast<int>(weights.parameters().all().size()); ++i)
    all.push_back(numbers_of(weights, i));
  return all;
}

std::vector<float> logits_after(const ForeignModel& foreign,
                                const std::vector<std::int32_t>& tokens) {
  ForeignComputer computer(foreign);
  std::span<const float> logits;
  for (const std::int32_t token : tokens)
    logits = computer.after(token);
  return {logits.begin(), logits.end()};
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<float>::infinity();
  float worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace athanor
