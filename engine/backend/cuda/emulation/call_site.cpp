// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/call_site.h"

namespace athanor::cuda::emulation {

bool same_text(const CallSite& a, const CallSite& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string text_of(const CallSite& site) {
  const char* const slash = std::strrchr(site.file_name(), '/');
  return std::string(slash == nullptr ? site.file_name() : slash + 1) + ":" +
         std::to_string(site.line());
}

}  // namespace athanor::cuda::emulation
