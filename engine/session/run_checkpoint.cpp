// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/run_checkpoint.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace athanor {

RunSpec read_run_spec(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / "spec.json";
  return run_spec_from_json(read_json_file(path), path.string());
}

CheckpointFolder::Loaded load_run_checkpoint(const std::filesystem::path& run_folder,
                                             std::optional<std::int64_t> step,
                                             std::string& notice) {
  const CheckpointFolder folder(run_folder / "checkpoints");
  if (folder.list().empty()) {
    throw Error(ErrorKind::not_found,
                "This run has no checkpoint yet. Let it train a little longer, or choose another.");
  }
  if (!step) {
    std::vector<std::string> problems;
    CheckpointFolder::Loaded loaded = folder.load_newest(false, problems);
    for (const std::string& problem : problems)
      notice += (notice.empty() ? "" : " ") + problem;
    return loaded;
  }
  for (const CheckpointFolder::Entry& entry : folder.list()) {
    if (entry.step == *step) return CheckpointFolder::load(entry.path, false);
  }
  throw Error(ErrorKind::not_found,
              fmt::format("This run has no checkpoint of step {}. Choose another.", *step));
}

}  // namespace athanor
