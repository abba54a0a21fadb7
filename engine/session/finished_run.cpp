// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/finished_run.h"

#include <unordered_map>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/progress_meter.h"
#include "engine/io/checkpoint.h"
#include "engine/io/number_format.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLeftoverMark = "import.partial-";

/// Folders that a crash left behind.
void remove_leftovers(const fs::path& runs) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator item(runs, error), end; !error && item != end;
       item.increment(error)) {
    const bool ours = item->path().filename().string().starts_with(kLeftoverMark);
    if (ours && !RunLock::held_by_anyone(item->path())) leftovers.push_back(item->path());
  }
  for (const fs::path& leftover : leftovers)
    fs::remove_all(leftover, error);
}

AtomicFolder new_folder(const fs::path& home) {
  create_folders(home / "runs");
  remove_leftovers(home / "runs");
  return AtomicFolder(home / "runs" / "import", 0);
}

}  // namespace

FinishedRun::FinishedRun(fs::path home)
    : home_(std::move(home)), folder_(new_folder(home_)), lock_(folder_.path()) {}

RunRecord FinishedRun::commit(const RunSpec& spec, std::int64_t parameters,
                              const std::string& event_kind, const std::string& event_text) {
  const Json json = run_spec_to_json(spec);
  write_file_atomically(folder() / "spec.json",
                        json.dump(2, ' ', false, Json::error_handler_t::replace));
  const std::int64_t now = now_ms();
  RunRecord record{.name = spec.name,
                   .status = RunStatus::finished,
                   .created_ms = now,
                   .updated_ms = now,
                   .parameters = parameters,
                   .spec = json.dump()};
  RunStore store(home_);
  record.id = store.create_run(record);
  const fs::path place = store.run_folder(record.id);
  try {
    folder_.commit_as(place);
  } catch (const Error&) {
    store.delete_run(record.id);
    throw;
  }
  store.append(record.id, CheckpointRow{.path = (place / "checkpoints" / "step-00000000").string(),
                                        .time_ms = now});
  store.append(record.id, EventRow{.time_ms = now, .kind = event_kind, .text = event_text});
  return record;
}

void write_first_checkpoint(const fs::path& run_folder, const ParameterList& parameters,
                            const WeightSource& weights, const Json& state, const char* stage,
                            const CancelToken& cancel, const ProgressCallback& progress) {
  std::vector<NamedTensor> tensors;
  std::unordered_map<std::string, int> index_of;
  std::int64_t total_bytes = 0;
  for (const Parameter& parameter : parameters.all()) {
    index_of.emplace(parameter.name, static_cast<int>(tensors.size()));
    tensors.push_back({parameter.name, {nullptr, weights.type(), parameter.shape}});
    total_bytes += tensors.back().tensor.bytes();
  }
  ProgressMeter meter(stage, total_bytes, cancel, progress);
  std::int64_t done_bytes = 0;
  std::vector<float> numbers;
  CheckpointFolder(run_folder / "checkpoints")
      .save({.step = 0,
             .weights = tensors,
             .optimizer = {},
             .state = state,
             .read = [&](const NamedTensor& entry, std::int64_t first, std::span<std::byte> to) {
               numbers.resize(to.size() / static_cast<std::size_t>(size_of(weights.type())));
               weights.read(index_of.at(entry.name), first, numbers);
               const NumberFormat format =
                   weights.type() == DType::bf16 ? NumberFormat::bf16 : NumberFormat::f32;
               if (!narrow(format, numbers, to)) {
                 throw Error(ErrorKind::damaged,
                             weights.name() + ": the tensor " + entry.name +
                                 " has numbers that are infinite or none. Use an earlier "
                                 "checkpoint.");
               }
               meter.update(done_bytes += static_cast<std::int64_t>(to.size()));
             }});
  meter.finish();
}

}  // namespace athanor
