// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/corpus_source.h"

#include "engine/base/error.h"
#include "engine/data/text_mapping.h"

namespace athanor {

void check_source(const CorpusSource& source, const std::string& place) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::invalid_argument, place + what);
  };
  if (source.path.empty()) refuse(".path must name a file, a folder or a pattern.");
  if (source.boundary == Boundary::separator && source.separator.empty()) {
    refuse(".separator must say what ends a document.");
  }
  if (!source.text.empty()) static_cast<void>(TextMapping(source.text));
}

}  // namespace athanor
