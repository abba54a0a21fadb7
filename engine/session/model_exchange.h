// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/exchange/export_model.h"
#include "engine/store/run_store.h"

namespace athanor {

struct ImportOptions {
  std::string name;  ///< of the run; empty: the model's own
  ForeignOptions model;
};

struct ImportedModel {
  RunRecord record;
  Architecture architecture = Architecture::llama;
  DType weights = DType::f32;        ///< what they are kept as: nothing is rounded
  std::vector<std::string> notices;  ///< sentences for a person
};

/// Makes a run of another program's model: finished, with one checkpoint of step 0, so that it is
/// listed, talked to and exported as any other. For any thread; opens a store of its own. Throws
/// what open_foreign_model throws, io for a full disk, and Cancelled; then nothing is left behind.
ImportedModel import_model(const std::filesystem::path& home, const std::filesystem::path& path,
                           const ImportOptions& options, const CancelToken& cancel,
                           const ProgressCallback& progress);

/// Whether a run is an import.
bool is_imported(const RunRecord& record);

/// What other programs are told of a run's model: as it came from them, or of one trained here.
ModelCard model_card_of(const std::filesystem::path& run_folder, const Tokenizer& tokenizer);

/// What the weights of a checkpoint's folder are kept as, f32 or bf16. Reads the file's header
/// alone; throws damaged.
NumberFormat saved_format(const std::filesystem::path& checkpoint);

/// Writes what model_card_of() gives; `from` names where the model is from.
void write_model_card(const std::filesystem::path& run_folder, const ModelCard& card,
                      const std::string& from);

struct ExportRequest {
  std::optional<std::int64_t> step;  ///< of the checkpoint; without it the newest good one
  FileKind kind = FileKind::hugging_face;
  /// See ExportOptions; without it as the checkpoint has them.
  std::optional<NumberFormat> type;
  std::filesystem::path folder;  ///< to be made
};

struct ExportedModel {
  std::int64_t step = 0;
  NumberFormat type = NumberFormat::f32;
  std::int64_t weights_bytes = 0;
  std::string notice;  ///< of damaged checkpoints passed over; may be empty
};

/// Writes a run's checkpoint for other programs. For any thread. Throws what loading a checkpoint
/// and export_model throw; then nothing is left behind.
ExportedModel export_run(const std::filesystem::path& run_folder, const ExportRequest& request,
                         const CancelToken& cancel, const ProgressCallback& progress);

}  // namespace athanor
