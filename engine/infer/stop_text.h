// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

namespace athanor {

/// Lets a stream of text through up to the first of some texts. Holds back what may turn out to be
/// the beginning of one.
class StopText {
 public:
  /// Throws invalid_argument for an empty one, one over kMostStop_bytes, or more than kMostStops.
  explicit StopText(std::vector<std::string> stops);

  /// What is certain to come before any of them. After found(), nothing.
  std::string push(const std::string& text);
  /// What was held back, when the text ends without one.
  std::string finish();
  bool found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace athanor
