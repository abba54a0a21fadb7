// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tensor/arena.h"
#include "tests/engine/backend/operation_tensors.h"

namespace athanor {

/// Where an operation that a card runs has its tensors.
struct StagingArenas {
  Arena& card;     ///< over Backend::allocate()
  Arena& machine;  ///< over Backend::allocate_host()
};

/// A copy of an operation for a backend whose memory only it can read. What an operation itself
/// keeps in the machine's memory (FromHost, ToHost, the result of SumOfSquares) stays there.
class StagedOperation {
 public:
  /// Copies all tensors of `from`, which lie in this process's memory, those that are to be written
  /// too. Tensors that were one stay one.
  StagedOperation(const AnyOperation& from, Backend& backend, const StagingArenas& arenas);

  const AnyOperation& operation() const { return staged_; }
  void run();
  /// Copies what the operation writes to the tensors of `to`, a copy of the same operation.
  void fetch(AnyOperation& to) const;

 private:
  Backend& backend_;
  const Arena& machine_;
  AnyOperation staged_;
};

}  // namespace athanor
