// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/disk_usage.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/io/checkpoint.h"

namespace athanor {

namespace fs = std::filesystem;

namespace {

std::int64_t bytes_in(const fs::path& folder, const CancelToken& cancel) {
  std::int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    cancel.throw_if_requested();
    if (item->is_symlink(error) || !item->is_regular_file(error)) continue;
    if (const std::uintmax_t size = item->file_size(error); !error) {
      bytes += static_cast<std::int64_t>(size);
    }
  }
  return bytes;
}

std::vector<fs::path> folders_in(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    if (item->is_directory(error) && item->path().filename().string().starts_with(prefix)) {
      found.push_back(item->path());
    }
  }
  return found;
}

std::int64_t remove_folder(const fs::path& folder) {
  const std::int64_t bytes = bytes_in(folder, CancelToken());
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) throw file_error("remove", folder.string(), error.value());
  return bytes;
}

/// What remove_older_checkpoints() keeps.
Retention newest_and_best(const RunStore& store, std::int64_t run_id) {
  Retention kept{.newest = 1, .latest = {}, .best = {}};
  for (const CheckpointRow& row : store.checkpoints(run_id)) {
    if (row.best) kept.best = row.step;
  }
  return kept;
}

/// The keys of prepared data that runs go on from.
std::set<std::string> used_data(const RunStore& store) {
  std::set<std::string> keys;
  for (const RunRecord& record : store.runs()) {
    try {
      keys.insert(
          read_json_file(store.run_folder(record.id) / "data.json").value("key", std::string()));
    } catch (const Error&) {
      continue;  // A run without data goes on from none.
    } catch (const Json::exception&) {
      continue;
    }
  }
  return keys;
}

std::vector<fs::path> unused_data(const RunStore& store) {
  std::vector<fs::path> unused;
  const std::set<std::string> used = used_data(store);
  for (const fs::path& folder : folders_in(store.home() / "data", "")) {
    if (!used.contains(folder.filename().string())) unused.push_back(folder);
  }
  return unused;
}

void refuse_while_trained(const RunStore& store, std::int64_t run_id) {
  if (!RunLock::held_by_anyone(store.run_folder(run_id))) return;
  throw Error(ErrorKind::busy, "This run is being trained. Stop it first, then clean up.");
}

}  // namespace

DiskUsage measure_disk_usage(const RunStore& store, const CancelToken& cancel) {
  DiskUsage usage{.free_bytes = free_disk_bytes(store.home()),
                  .data_bytes = bytes_in(store.home() / "data", cancel)};
  for (const fs::path& folder : unused_data(store))
    usage.unused_data_bytes += bytes_in(folder, cancel);
  for (const RunRecord& record : store.runs()) {
    const fs::path folder = store.run_folder(record.id);
    RunUsage run{.run_id = record.id, .name = record.name};
    const Retention kept = newest_and_best(store, record.id);
    const auto entries = CheckpointFolder(folder / "checkpoints").list();
    for (const CheckpointFolder::Entry& entry : entries) {
      const std::int64_t bytes = bytes_in(entry.path, cancel);
      run.checkpoint_bytes += bytes;
      if (entry.step != entries.back().step && kept.best != entry.step) run.older_bytes += bytes;
    }
    for (const fs::path& abandoned : folders_in(folder, "abandoned-"))
      run.abandoned_bytes += bytes_in(abandoned, cancel);
    usage.runs.push_back(std::move(run));
  }
  std::ranges::stable_sort(usage.runs, std::greater(), [](const RunUsage& run) {
    return run.checkpoint_bytes + run.abandoned_bytes;
  });
  return usage;
}

std::int64_t remove_older_checkpoints(RunStore& store, std::int64_t run_id) {
  refuse_while_trained(store, run_id);
  const CheckpointFolder folder(store.run_folder(run_id) / "checkpoints");
  const std::int64_t before = bytes_in(folder.root(), CancelToken());
  folder.prune(newest_and_best(store, run_id));
  std::vector<std::int64_t> left;
  for (const CheckpointFolder::Entry& entry : folder.list())
    left.push_back(entry.step);
  store.keep_checkpoints(run_id, left);
  return before - bytes_in(folder.root(), CancelToken());
}

std::int64_t remove_abandoned_checkpoints(const RunStore& store, std::int64_t run_id) {
  std::int64_t bytes = 0;
  for (const fs::path& folder : folders_in(store.run_folder(run_id), "abandoned-"))
    bytes += remove_folder(folder);
  return bytes;
}

std::int64_t remove_unused_data(const RunStore& store) {
  std::int64_t bytes = 0;
  for (const fs::path& folder : unused_data(store))
    bytes += remove_folder(folder);
  return bytes;
}

}  // namespace athanor
