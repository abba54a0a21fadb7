// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_window.h"

#include <algorithm>

namespace athanor {

bool TextWindow::more() {
  text_.erase(0, begin_);
  begin_ = 0;
  return stream_.read(text_);
}

void TextWindow::skip(std::size_t bytes) {
  const std::string_view used = view().substr(0, bytes);
  line_ += std::count(used.begin(), used.end(), '\n');
  begin_ += used.size();
}

}  // namespace athanor
