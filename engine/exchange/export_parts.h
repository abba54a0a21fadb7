// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "engine/data/progress_meter.h"
#include "engine/exchange/export_model.h"
#include "engine/io/weight_source.h"

namespace athanor {

/// What is to be written, tensor by tensor.
class ExportList {
 public:
  ExportList(const ExportSource& source, FileKind kind);

  Architecture architecture() const { return architecture_; }
  const std::vector<ForeignTensor>& tensors() const { return tensors_; }
  /// Numbers `first`… of a tensor, as they lie in this program's own file.
  void read(const ForeignTensor& tensor, std::int64_t first, std::span<float> to) const;

 private:
  Architecture architecture_;
  std::vector<ForeignTensor> tensors_;
  const WeightSource& weights_;
};

/// Counts what was written, and stops when that is asked for.
class ExportMeter {
 public:
  ExportMeter(std::int64_t total_bytes, const CancelToken& cancel, const ProgressCallback& progress)
      : meter_("Writing the model", total_bytes, cancel, progress) {}
  void add(std::int64_t bytes) { meter_.update(done_bytes_ += bytes); }

 private:
  ProgressMeter meter_;
  std::int64_t done_bytes_ = 0;
};

/// The nearest that can be stored. Throws naming the tensor.
void store(NumberFormat format, std::span<const float> numbers, std::span<std::byte> to,
           const std::string& tensor);

void write_hugging_face(const ExportSource& source, const ExportList& list, NumberFormat type,
                        const std::filesystem::path& folder, ExportMeter& meter);
void write_gguf(const ExportSource& source, const ExportList& list, NumberFormat type,
                const std::filesystem::path& folder, ExportMeter& meter);

/// What a tensor of a GGUF file is stored as when its matrices are asked to be `type`.
NumberFormat gguf_format(const ForeignTensor& tensor, NumberFormat type);

}  // namespace athanor
