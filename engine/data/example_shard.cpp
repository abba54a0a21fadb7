// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/example_shard.h"

#include "engine/base/error.h"

namespace athanor {

ExampleShard ExampleShard::open(const std::filesystem::path& folder, const std::string& name) {
  ExampleShard made(TokenShard::open(folder / (name + ".tokens")),
                    TokenShard::open(folder / (name + ".marks")));
  const TokenShard::Info& tokens = made.tokens_.info();
  const TokenShard::Info& marks = made.marks_.info();
  const bool fits = marks.tokens == tokens.tokens && marks.documents == tokens.documents &&
                    marks.vocabulary_size == kVocabulary &&
                    marks.tokenizer_fingerprint == tokens.tokenizer_fingerprint &&
                    made.examples() == marks.documents;
  const bool begins = marks.tokens == 0 || made.start(0) == 0;
  if (fits && begins) return made;
  throw Error(ErrorKind::damaged, (folder / name).string() +
                                      ".marks does not belong to the tokens beside it. Prepare the "
                                      "examples again.");
}

ExampleShard::ExampleShard(TokenShard tokens, TokenShard marks)
    : tokens_(std::move(tokens)), marks_(std::move(marks)) {
  for (std::int64_t i = 0; i < marks_.tokens(); ++i) {
    const std::int32_t mark = marks_.token(i);
    if (mark == kFirst) starts_.push_back(i);
    trained_ += mark == kTrained ? 1 : 0;
  }
  starts_.push_back(marks_.tokens());
}

}  // namespace athanor
