// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/example_marks.h"

#include "engine/base/error.h"

namespace athanor {

ExampleMarks ExampleMarks::open(const std::filesystem::path& path, const TokenShard& tokens) {
  ExampleMarks made(tokens, TokenShard::open(path));
  const TokenShard::Info& marks = made.marks_.info();
  const bool fits = marks.tokens == tokens.tokens() && marks.documents == tokens.info().documents &&
                    marks.vocabulary_size == kVocabulary &&
                    marks.tokenizer_fingerprint == tokens.info().tokenizer_fingerprint;
  if (!fits || made.examples() != marks.documents) {
    throw Error(ErrorKind::damaged, path.string() +
                                        " does not belong to the tokens beside it. Prepare the "
                                        "examples again.");
  }
  return made;
}

ExampleMarks::ExampleMarks(const TokenShard& tokens, TokenShard marks)
    : tokens_(tokens), marks_(std::move(marks)) {
  for (std::int64_t i = 0; i < marks_.tokens(); ++i) {
    const std::int32_t mark = marks_.token(i);
    if (mark == kFirst) starts_.push_back(i);
    trained_ += mark == kTrained ? 1 : 0;
  }
  starts_.push_back(marks_.tokens());
}

}  // namespace athanor
