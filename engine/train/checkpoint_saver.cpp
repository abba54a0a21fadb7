// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/checkpoint_saver.h"

#include <chrono>

namespace athanor {

bool CheckpointSaver::done() const {
  return saved_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void CheckpointSaver::start(const CheckpointFolder::Content& content, const Retention& kept) {
  saved_ = std::async(std::launch::async,
                      [folder = folder_, kept, copied = folder_.copy(content)]() mutable {
                        std::filesystem::path place = copied.finish();
                        folder.prune(kept);
                        return place;
                      });
}

}  // namespace athanor
