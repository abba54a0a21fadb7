// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/engine/backend/case_instance.h"
#include "tests/gpu/staged_operation.h"

namespace athanor {

/// What became of one case of the table of operations on a card.
struct CaseResult {
  std::string name;
  Operation operation = Operation::linear;
  bool same_bits = false;  ///< when run twice
  Deviation deviation;     ///< from the double-precision reference
  std::string error;       ///< what was thrown; empty when nothing was

  bool passed() const { return error.empty() && same_bits && deviation.share <= 1; }
  /// In words, empty when it passed.
  std::string problem() const;
};

/// Runs cases of the table on a card and compares with the reference, which runs on the processor:
/// everything gets to the card and back by upload() and download() alone.
class CardCheck {
 public:
  /// Memory that cannot be pinned is a file in `folder`.
  CardCheck(Backend& backend, const std::filesystem::path& folder);

  /// Once for each way in which a card stores what the case has: gradients in FP32, then in bf16.
  /// Nothing when the backend does not support it.
  std::vector<CaseResult> check(const OperationCase& row);

 private:
  CaseResult check(const OperationCase& row, const AnyOperation& source, const RealTypes& types);
  void compare_with_reference(CaseResult& result, const AnyOperation& given,
                              const AnyOperation& got, const StagedOperation& on_card, double gain);
  StagingArenas arenas() { return {card_, machine_}; }

  Backend& backend_;
  Arena own_{kCase_arena_bytes};
  Arena card_;
  Arena machine_;
};

}  // namespace athanor
