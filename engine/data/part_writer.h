// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/thread_pool.h"
#include "engine/data/token_encoder.h"
#include "engine/data/token_shard.h"

namespace athanor {

/// The shards of training and validation. Documents are added in their order, encoded on all
/// threads and written in that order.
class PartWriter {
 public:
  enum class Part { train, validation };

  /// All must outlive it.
  PartWriter(const Tokenizer& tokenizer, const std::filesystem::path& folder, ThreadPool& pool);

  /// Appends to a part's current document, which these bytes end or not; of a training document,
  /// how often it is there in all.
  void add(Part part, std::string text, bool ends, std::int64_t times = 1);
  /// Encodes and writes what was added; nothing that was ended is pending then.
  void flush();
  std::int64_t tokens() const { return train_.tokens() + validation_.tokens(); }
  /// Appends the copies, then makes both files whole.
  void finish(TokenShard::Info& train, TokenShard::Info& validation);

 private:
  struct Stretch {
    Part part;
    std::string text;
    bool continues;  ///< a document that began before
    bool ends;       ///< its document
    std::int64_t times;
  };
  struct Copied {
    std::int64_t first;
    std::int64_t tokens;
    std::int64_t times;  ///< still to be written
  };

  void encode(std::size_t at, TokenEncoder& encoder);
  void write(const Stretch& stretch, const std::vector<std::int32_t>& ids);
  void write_copies();

  const Tokenizer& tokenizer_;
  ThreadPool& pool_;
  TokenShardWriter train_;
  TokenShardWriter validation_;
  std::vector<std::unique_ptr<TokenEncoder>> encoders_;
  std::vector<Stretch> pending_;
  std::vector<std::vector<std::int32_t>> ids_;
  std::string unfinished_;     ///< the end of a document whose rest is to come
  bool has_begun_ = false;     ///< of that one a stretch was cut already
  std::int64_t document_ = 0;  ///< where the training document that is written begins
  std::vector<Copied> copies_;
};

}  // namespace athanor
