// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_corpus.h"

#include "engine/base/file.h"
#include "engine/data/progress_meter.h"
#include "engine/data/story_teller.h"
#include "engine/data/tokenizer.h"

namespace athanor {

void write_story_corpus(const std::filesystem::path& path, std::int64_t bytes, std::uint64_t seed,
                        const CancelToken& cancel, const ProgressCallback& progress) {
  constexpr std::size_t kPending_bytes = 1 << 20;
  ProgressMeter meter("Writing stories", bytes, cancel, progress);
  AtomicFile file(path);
  std::string pending;
  std::int64_t written_bytes = 0;
  for (std::uint64_t index = 0; written_bytes < bytes; ++index) {
    const std::size_t before = pending.size();
    pending += story::tell_story(seed, index);
    pending += "\n";
    pending += Tokenizer::kEndOfText;
    pending += "\n";
    written_bytes += static_cast<std::int64_t>(pending.size() - before);
    if (pending.size() >= kPending_bytes) {
      file.write(pending);
      pending.clear();
    }
    meter.update(written_bytes);
  }
  file.write(pending);
  file.commit();
  meter.finish();
}

}  // namespace athanor
