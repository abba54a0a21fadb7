// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/memory_roles.h"

#include <QCoreApplication>

namespace athanor {
namespace {

struct RoleLook {
  MemoryRole role;
  const char* name;
  int series;
};

constexpr RoleLook kRoles[] = {
    {MemoryRole::weights, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Weights"), 2},
    {MemoryRole::gradients, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Gradients"), 3},
    {MemoryRole::optimizer, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Optimizer"), 5},
    {MemoryRole::activations, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Activations"), 1},
    {MemoryRole::logits, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Logits"), 7},
    {MemoryRole::workspace, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Workspace"), 6},
    {MemoryRole::batch, QT_TRANSLATE_NOOP("athanor::MemoryRoles", "Batch"), 8},
};

QString inWords(const char* name) {
  return QCoreApplication::translate("athanor::MemoryRoles", name);
}

}  // namespace

QVector<MemorySegment> segmentsOf(const std::array<std::int64_t, kMemoryRoles>& bytes) {
  QVector<MemorySegment> segments;
  for (const RoleLook& look : kRoles) {
    segments.push_back(
        {inWords(look.name), bytes[static_cast<std::size_t>(look.role)], look.series});
  }
  return segments;
}

}  // namespace athanor
