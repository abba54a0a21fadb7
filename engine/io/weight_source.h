// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/io/safetensors.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// Where a model's weights are read from: a checkpoint, or another program's file. Parameters go by
/// their index in the model's list of them.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  /// The file, for messages.
  virtual std::string name() const = 0;
  /// f32, or bf16 when that holds every number as it is.
  virtual DType type() const = 0;
  /// Elements `first`… of a parameter, as many as fill `to`.
  virtual void read(int parameter, std::int64_t first, std::span<float> to) const = 0;
};

/// The weights of a checkpoint, which must outlive it.
class CheckpointWeights : public WeightSource {
 public:
  /// `parameters` have names and shapes. Throws damaged when one is missing or has another shape.
  template <class Parameters>
  CheckpointWeights(const SafetensorsFile& file, const Parameters& parameters)
      : file_(file), type_(type_in(file)) {
    for (const auto& parameter : parameters)
      tensors_.push_back(file.find(parameter.name, type_, parameter.shape));
  }

  std::string name() const override { return file_.path().string(); }
  DType type() const override { return type_; }
  void read(int parameter, std::int64_t first, std::span<float> to) const override;
  /// What a checkpoint's file keeps them as.
  static DType type_in(const SafetensorsFile& file);

 private:
  const SafetensorsFile& file_;
  DType type_;
  std::vector<Tensor> tensors_;
};

}  // namespace athanor
