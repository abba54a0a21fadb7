// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/paths.h"

#include <cstdlib>

#include "engine/base/error.h"

namespace athanor {

std::filesystem::path default_home() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const auto home = variable("ATHANOR_HOME"); !home.empty()) return home;
  // The specification has relative values ignored.
  if (const auto data = variable("XDG_DATA_HOME"); data.is_absolute()) return data / "athanor";
  if (const auto home = variable("HOME"); !home.empty()) return home / ".local/share/athanor";
  throw Error(ErrorKind::invalid_argument,
              "There is no home folder to keep runs in. Set HOME, or name a folder with --home.");
}

}  // namespace athanor
