// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/exchange/foreign_model.h"

namespace athanor {

/// A small model as transformers made it: tests/golden/peer_models.py has the same weights.
struct SampleModel {
  std::string name;
  Json config;
  std::vector<std::int32_t> tokens;
  std::vector<float> logits;  ///< after the last token, by transformers in FP32
};

/// Those of tests/golden/model_logits.json.
std::vector<SampleModel> sample_models();
SampleModel sample_model(const std::string& name);

/// A tensor of a Hugging Face folder, with its numbers.
struct SampleTensor {
  std::string name;
  Shape shape;
  std::vector<float> numbers;
};
std::vector<SampleTensor> sample_tensors(const Json& config);

/// Writes config.json, tokenizer.json and model.safetensors.
void write_sample(const std::filesystem::path& folder, const Json& config);
void write_sample(const std::filesystem::path& folder, const Json& config,
                  const std::vector<SampleTensor>& tensors, DType type = DType::f32);
void write_tensors(const std::filesystem::path& file, const std::vector<SampleTensor>& tensors,
                   DType type = DType::f32);

/// All of a parameter.
std::vector<float> numbers_of(const ForeignWeights& weights, int parameter);
std::vector<std::vector<float>> all_numbers(const ForeignWeights& weights);

/// The logits after the last of `tokens`.
std::vector<float> logits_after(const ForeignModel& foreign,
                                const std::vector<std::int32_t>& tokens);
float largest_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace athanor
