// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

namespace athanor {

/// Where Athanor keeps everything it makes: $ATHANOR_HOME, else $XDG_DATA_HOME/athanor, else
/// ~/.local/share/athanor (XDG Base Directory Specification 0.8).
std::filesystem::path default_home();

}  // namespace athanor
