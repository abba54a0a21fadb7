// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"

namespace athanor {

struct BackendOptions {
  int threads = 0;  ///< 0: as many as the process may use
};

/// Names of the backends that run on this machine, the best first.
std::vector<std::string> available_backends();

/// Throws unsupported when `name` is none of them.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

}  // namespace athanor
