// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/registry.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/error.h"

namespace athanor {

std::vector<std::string> available_backends() {
  return {"cpu"};
}

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  if (name == "cpu") return make_cpu_backend(options.threads);
  std::string known;
  for (const std::string& backend : available_backends()) {
    known += (known.empty() ? "" : ", ") + backend;
  }
  throw Error(ErrorKind::unsupported, "There is no device called \"" + std::string(name) +
                                          "\" on this machine. Choose one of: " + known + ".");
}

}  // namespace athanor
