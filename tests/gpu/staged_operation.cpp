// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/staged_operation.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "tests/engine/backend/case_instance.h"

namespace athanor {
namespace {

bool stays_in_machine(std::string_view tensor) {
  return tensor == "host" || tensor == "result";
}

/// What the operation writes, in the order in which its tensors are visited.
std::vector<Tensor> written(AnyOperation operation) {
  std::vector<Tensor> tensors;
  const auto keep = [&](const char*, const Tensor& tensor, Kind, Use use, std::int64_t) {
    if (tensor.present() && (use == Use::output || use == Use::changed)) tensors.push_back(tensor);
  };
  std::visit([&](auto& op) { visit_tensors(op, keep); }, operation);
  return tensors;
}

}  // namespace

StagedOperation::StagedOperation(const AnyOperation& from, Backend& backend,
                                 const StagingArenas& arenas)
    : backend_(backend), machine_(arenas.machine), staged_(from) {
  std::map<const std::byte*, Tensor> copied;
  const auto stage = [&](const char* name, Tensor& tensor, Kind, Use, std::int64_t) {
    if (!tensor.present()) return;
    const Tensor original = tensor;
    if (const auto known = copied.find(original.data); known != copied.end()) {
      tensor = known->second;
      return;
    }
    const bool stays = stays_in_machine(name);
    Arena& arena = stays ? arenas.machine : arenas.card;
    tensor = arena.take(MemoryRole::workspace, original.dtype, original.shape);
    if (stays) {
      std::ranges::copy(original.byte_span(), tensor.data);
    } else {
      backend.upload(tensor, original.byte_span());
    }
    copied[original.data] = tensor;
  };
  std::visit([&](auto& op) { visit_tensors(op, stage); }, staged_);
}

void StagedOperation::run() {
  execute(backend_, staged_);
}

void StagedOperation::fetch(AnyOperation& to) const {
  // Copies to the machine's memory go on beside the card's work.
  backend_.wait();
  const std::vector<Tensor> results = written(staged_);
  const std::vector<Tensor> wanted = written(to);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (machine_.holds(results[i])) {
      std::ranges::copy(results[i].byte_span(), wanted[i].data);
    } else {
      backend_.download(wanted[i].byte_span(), results[i]);
    }
  }
}

}  // namespace athanor
