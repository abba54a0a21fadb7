// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/added_tokens.h"
#include "engine/data/bpe_model.h"
#include "engine/data/tokenizer_description.h"
#include "engine/data/tokenizer_pipeline.h"

namespace athanor {

/// A tokenizer made ready for use.
struct TokenizerTables {
  TokenizerTables(TokenizerDescription described, const std::string& name);

  std::string_view text_of(std::int32_t id) const {
    const auto index = static_cast<std::size_t>(id);
    return std::string_view(texts).substr(starts[index], starts[index + 1] - starts[index]);
  }

  /// Where a text may be cut.
  enum class Cuts { nowhere, at_words, at_spaces };

  TokenizerDescription description;
  TokenizerPipeline pipeline;
  BpeModel model;
  AddedTokenFinder raw_tokens;
  AddedTokenFinder normalized_tokens;
  std::int32_t vocabulary_size = 0;
  std::int32_t end_of_text = -1;
  std::string texts;                ///< of all ids, one after the other
  std::vector<std::size_t> starts;  ///< where each id's text begins, and the end
  std::vector<bool> special;
  std::vector<std::int32_t> unused;
  Cuts cuts = Cuts::nowhere;
  std::uint64_t fingerprint = 0;

 private:
  void choose_end_of_text(const std::string& name);
  void write_texts();
  void choose_cuts();
};

}  // namespace athanor
