// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <vector>

#include "engine/backend/cuda/stream.h"

/// What Stream points to in the emulation.
struct CUstream_st {
  /// Where work is noted instead of being done; null: it is done.
  std::vector<std::function<void()>>* notes = nullptr;
};

namespace athanor::cuda::emulation {

/// Does `work`, which has copies of its arguments, as the stream says.
template <class Work>
void give(Stream stream, const Work& work) {
  if (stream == nullptr || stream->notes == nullptr) {
    work();
  } else {
    stream->notes->push_back(work);
  }
}

}  // namespace athanor::cuda::emulation
