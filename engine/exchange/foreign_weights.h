// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/file.h"
#include "engine/exchange/foreign_tensors.h"
#include "engine/io/stored_tensor.h"
#include "engine/io/weight_source.h"

namespace athanor {

/// The tensors of another program's files, with what keeps them mapped.
struct StoredModel {
  FileKind kind = FileKind::hugging_face;
  std::filesystem::path path;  ///< the file or folder
  std::vector<StoredTensor> tensors;
  std::vector<std::shared_ptr<const MappedFile>> files;
};

/// A model's weights in another program's files, read as the parameters of this one's. Nothing is
/// kept in memory but what the system keeps of the mapped files.
class ForeignWeights : public WeightSource {
 public:
  /// Checks that every tensor is there, in the right shape, and that none is left over. Throws
  /// damaged or unsupported naming the file and the tensor.
  ForeignWeights(StoredModel stored, const ModelConfig& model, Architecture architecture);

  const ParameterTable& parameters() const { return table_; }
  std::string name() const override { return stored_.path.string(); }
  DType type() const override { return type_; }
  /// Throws damaged for numbers that are not finite.
  void read(int parameter, std::int64_t first, std::span<float> to) const override;

 private:
  struct Source {
    ForeignTensor tensor;
    const StoredTensor* stored;
  };

  void add(ForeignTensor tensor,
           const std::unordered_map<std::string_view, const StoredTensor*>& stored);
  void check_leftovers(const ModelConfig& model, Architecture architecture) const;
  DType smallest_type() const;
  /// The part of `source` that lies in [first, first + to.size()) of its parameter.
  void read_overlap(const Source& source, std::int64_t first, std::span<float> to) const;

  StoredModel stored_;
  ParameterTable table_;
  std::vector<std::vector<Source>> sources_;  ///< of each parameter
  DType type_ = DType::f32;
};

}  // namespace athanor
