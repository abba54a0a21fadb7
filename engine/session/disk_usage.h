// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/store/run_store.h"

namespace athanor {

/// What of a run could go without losing where it stands.
struct RunUsage {
  std::int64_t run_id = 0;
  std::string name;
  std::int64_t checkpoint_bytes = 0;
  std::int64_t older_bytes = 0;      ///< of them, all but the newest and the best
  std::int64_t abandoned_bytes = 0;  ///< checkpoints that the run went back from
};

struct DiskUsage {
  std::int64_t free_bytes = 0;         ///< where the home is
  std::int64_t data_bytes = 0;         ///< tokens of texts
  std::int64_t unused_data_bytes = 0;  ///< of them, of texts that no run uses; made again on demand
  std::vector<RunUsage> runs;          ///< the largest first
};

/// Walks the home's folders; folders that cannot be read count nothing. Throws Cancelled.
DiskUsage measure_disk_usage(const RunStore& store, const CancelToken& cancel);

/// Each returns the bytes that went. Runs that are being trained are left alone.
std::int64_t remove_older_checkpoints(RunStore& store, std::int64_t run_id);
std::int64_t remove_abandoned_checkpoints(const RunStore& store, std::int64_t run_id);
std::int64_t remove_unused_data(const RunStore& store);

}  // namespace athanor
