// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace athanor {

/// Something a person should know while the program goes on.
struct Notice {
  std::string title;    ///< what happened, without a full stop
  std::string text;     ///< whole sentences: what of it, and the next step
  std::string details;  ///< technical; may be empty

  bool empty() const { return title.empty(); }
  /// All but the details.
  std::string sentence() const { return title + ". " + text; }
};

}  // namespace athanor
