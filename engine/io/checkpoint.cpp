// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"

namespace athanor {

namespace fs = std::filesystem;

namespace {

constexpr int kFormat = 1;
constexpr std::int64_t kRoomToSpare_bytes = 1 << 20;
constexpr std::string_view kPrefix = "step-";
constexpr std::size_t kStepDigits = 8;
/// In the names of folders being written or removed.
constexpr std::string_view kPartialMark = ".partial-";
constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "state.json";
constexpr const char* kManifest = "checkpoint.json";
constexpr const char* kValidationLoss = "validation_loss";

std::string folder_name(std::int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

/// The step in a checkpoint folder's name, or nothing for other names.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kStepDigits) return {};
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || stop != end || folder_name(step) != name) return {};
  return step;
}

constexpr const char* kChanged = "was cut off or changed after it was saved";

/// Damage also as a part of a sentence: "<file> was changed…".
class Damage : public Error {
 public:
  Damage(const fs::path& file, const std::string& what, std::string context)
      : Error(ErrorKind::damaged,
              file.string() + " " + what + ". Use an earlier checkpoint; this one can be deleted.",
              std::move(context)),
        finding_(file.string() + " " + what) {}

  const std::string& finding() const { return finding_; }

 private:
  std::string finding_;
};

[[noreturn]] void refuse(const fs::path& file, const std::string& what, std::string context = {}) {
  throw Damage(file, what, std::move(context));
}

fs::path partial_path(const fs::path& root, std::int64_t step) {
  return root / fmt::format("{}{}{}", folder_name(step), kPartialMark, ::getpid());
}

/// Puts `partial` at `place` in one step. When there was a checkpoint it is at `partial`
/// afterwards.
void put_in_place(const fs::path& partial, const fs::path& place) {
  unsigned int flags = fs::exists(place) ? RENAME_EXCHANGE : 0;
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, place.c_str(), flags) != 0) {
    throw file_error("write", place.string(), errno);
  }
  sync_folder(place.parent_path());
}

std::int64_t bytes_of(std::span<const NamedTensor> tensors) {
  std::int64_t bytes = 0;
  for (const NamedTensor& entry : tensors)
    bytes += entry.tensor.bytes();
  return bytes;
}

/// Removes a checkpoint that was renamed first, so that a crash in between leaves no half of one.
void remove_checkpoint(const CheckpointFolder::Entry& entry) {
  const fs::path partial = partial_path(entry.path.parent_path(), entry.step);
  std::error_code error;
  fs::rename(entry.path, partial, error);
  if (!error) fs::remove_all(partial, error);
  if (error) throw file_error("remove", entry.path.string(), error.value());
}

/// A file that a whole checkpoint has: its absence is damage, and so is whatever of its content
/// this program did not write.
template <class Open>
auto open_part(const fs::path& file, const Open& open) {
  try {
    return open(file);
  } catch (const Error& error) {
    switch (error.kind()) {
      case ErrorKind::not_found:
        refuse(file, "is missing");
      case ErrorKind::damaged:
      case ErrorKind::unsupported:
      case ErrorKind::invalid_argument:
        refuse(file, kChanged, error.message());
      default:
        throw;
    }
  }
}

class Manifest {
 public:
  explicit Manifest(const fs::path& checkpoint) : path_(checkpoint / kManifest) {
    json_ = open_part(path_, [](const fs::path& file) { return read_json_file(file); });
    if (!json_.is_object() || json_.value("format", Json()) != kFormat) {
      refuse(path_, "is not of a format that this program reads");
    }
    const Json step = json_.value("step", Json());
    const std::optional<std::int64_t> named = step_of(checkpoint.filename().string());
    if (!step.is_number_integer() || (named && step != *named)) {
      refuse(path_, "names another step than its folder");
    }
    step_ = step.get<std::int64_t>();
  }

  std::int64_t step() const { return step_; }
  std::optional<double> validation_loss() const {
    const Json loss = json_.value(kValidationLoss, Json());
    return loss.is_number() ? std::optional(loss.get<double>()) : std::nullopt;
  }
  void note_validation(double loss) {
    json_[kValidationLoss] = loss;
    write_file_atomically(path_, json_.dump(1) + "\n");
  }

  void check(const char* file, std::uint64_t found) const {
    const Json files = json_.value("checksums", Json());
    const Json saved = files.is_object() ? files.value(file, Json()) : Json();
    if (saved != checksum_text(found)) {
      refuse(path_.parent_path() / file, kChanged,
             "checksum " + checksum_text(found) + " instead of " + saved.dump());
    }
  }

 private:
  fs::path path_;
  Json json_;
  std::int64_t step_ = 0;
};

/// Why a checkpoint was not taken.
struct Failure {
  std::int64_t step = 0;
  std::string message;
  std::string finding;  ///< of damage; empty when it is whole but cannot be read
};

std::string passed_over(const Failure& failure, std::int64_t used) {
  if (failure.finding.empty()) {
    return fmt::format("The checkpoint of step {} cannot be used, so the one of step {} is. {}",
                       failure.step, used, failure.message);
  }
  return fmt::format(
      "The checkpoint of step {} is damaged ({}), so the one of step {} is used. The damaged "
      "folder can be deleted.",
      failure.step, failure.finding, used);
}

SafetensorsFile open_tensors(const fs::path& checkpoint, const char* name,
                             const Manifest& manifest) {
  SafetensorsFile file = open_part(checkpoint / name, SafetensorsFile::open);
  manifest.check(name, file.file_checksum());
  return file;
}

}  // namespace

std::vector<CheckpointFolder::Entry> CheckpointFolder::list() const {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator item(root_, error), end; !error && item != end;
       item.increment(error)) {
    const std::optional<std::int64_t> step = step_of(item->path().filename().string());
    if (step && item->is_directory(error)) entries.push_back({*step, item->path()});
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw file_error("read folder", root_.string(), error.value());
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.step < b.step; });
  return entries;
}

CheckpointFolder::Unsynced::Unsynced(Unsynced&& other) noexcept
    : partial_(std::move(other.partial_)), place_(std::move(other.place_)) {
  other.partial_.clear();
}

CheckpointFolder::Unsynced::~Unsynced() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

fs::path CheckpointFolder::Unsynced::finish() {
  sync_files(partial_);
  put_in_place(partial_, place_);
  return place_;
}

void CheckpointFolder::check_room(std::int64_t tensor_bytes) const {
  require_free_disk_bytes(root_, tensor_bytes + kRoomToSpare_bytes, "to save a checkpoint");
}

CheckpointFolder::Unsynced CheckpointFolder::copy(const Content& content) const {
  check_room(bytes_of(content.weights) + bytes_of(content.optimizer));
  Unsynced saved(partial_path(root_, content.step), root_ / folder_name(content.step));
  const fs::path& partial = saved.partial_;
  create_folders(partial);
  const auto write = [&](const char* name, std::span<const NamedTensor> tensors) {
    return checksum_text(write_safetensors(partial / name, tensors, {}, content.read, Sync::later));
  };
  Json checksums{{kWeights, write(kWeights, content.weights)},
                 {kOptimizer, write(kOptimizer, content.optimizer)}};
  const auto write_text = [&](const char* name, const std::string& text) {
    AtomicFile file(partial / name);
    file.write(text);
    file.place();
  };
  const std::string state = content.state.dump(1) + "\n";
  write_text(kState, state);
  checksums[kState] = checksum_text(checksum(std::as_bytes(std::span(state))));
  const Json manifest{
      {"format", kFormat}, {"step", content.step}, {"checksums", std::move(checksums)}};
  write_text(kManifest, manifest.dump(1) + "\n");
  return saved;
}

void CheckpointFolder::note_validation(std::int64_t step, double loss) const {
  Manifest(root_ / folder_name(step)).note_validation(loss);
}

CheckpointFolder::Loaded CheckpointFolder::load(const fs::path& checkpoint, bool with_optimizer) {
  std::error_code error;
  if (!fs::is_directory(checkpoint, error)) {
    throw Error(ErrorKind::not_found,
                "There is no checkpoint " + checkpoint.string() + ". Choose one that exists.");
  }
  const Manifest manifest(checkpoint);
  SafetensorsFile weights = open_tensors(checkpoint, kWeights, manifest);
  std::optional<SafetensorsFile> optimizer;
  if (with_optimizer) optimizer.emplace(open_tensors(checkpoint, kOptimizer, manifest));
  const fs::path state_path = checkpoint / kState;
  const std::string state =
      open_part(state_path, [](const fs::path& file) { return read_small_file(file); });
  manifest.check(kState, checksum(std::as_bytes(std::span(state))));
  return {.step = manifest.step(),
          .path = checkpoint,
          .weights = std::move(weights),
          .optimizer = std::move(optimizer),
          .validation_loss = manifest.validation_loss(),
          .state = std::make_shared<const Json>(open_part(
              state_path, [&](const fs::path& file) { return parse_json(state, file.string()); }))};
}

CheckpointFolder::Loaded CheckpointFolder::load_newest(bool with_optimizer,
                                                       std::vector<std::string>& problems) const {
  const std::vector<Entry> entries = list();
  if (entries.empty()) {
    throw Error(ErrorKind::not_found, "There is no checkpoint in " + root_.string() +
                                          " yet. Train until one is saved, then try again.");
  }
  std::vector<Failure> failures;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    try {
      Loaded loaded = load(entry->path, with_optimizer);
      for (const Failure& failure : failures)
        problems.push_back(passed_over(failure, loaded.step));
      return loaded;
    } catch (const Damage& damage) {
      failures.push_back({entry->step, damage.message(), damage.finding()});
    } catch (const Error& error) {
      failures.push_back({entry->step, error.message(), {}});
    }
  }
  throw Error(
      ErrorKind::damaged,
      fmt::format("None of the {} checkpoints in {} can be used. Start the run again from the "
                  "beginning.",
                  entries.size(), root_.string()),
      failures.front().message);
}

std::vector<std::int64_t> CheckpointFolder::prune(const Retention& kept) const {
  const std::vector<Entry> entries = list();
  const auto newest = static_cast<std::size_t>(std::max(kept.newest, 0));
  std::vector<std::int64_t> removed;
  for (std::size_t index = 0; index + newest < entries.size(); ++index) {
    const Entry& entry = entries[index];
    if (kept.best == entry.step || kept.latest == entry.step) continue;
    if (kept.interval > 0 && entry.step % kept.interval == 0) continue;
    remove_checkpoint(entry);
    removed.push_back(entry.step);
  }
  return removed;
}

void CheckpointFolder::remove(std::int64_t step) const {
  remove_checkpoint({step, root_ / folder_name(step)});
}

fs::path CheckpointFolder::set_aside_after(std::int64_t step) const {
  fs::path aside;
  std::error_code error;
  for (const Entry& entry : list()) {
    if (entry.step <= step) continue;
    for (int number = 1; aside.empty(); ++number) {
      const fs::path candidate = root_.parent_path() / fmt::format("abandoned-{}", number);
      if (fs::create_directory(candidate, error)) aside = candidate;
      if (error) throw file_error("create folder", candidate.string(), error.value());
    }
    fs::rename(entry.path, aside / entry.path.filename(), error);
    if (error) throw file_error("move", entry.path.string(), error.value());
  }
  if (!aside.empty()) sync_folder(root_);
  return aside;
}

void CheckpointFolder::remove_partial() const {
  std::error_code error;
  for (fs::directory_iterator item(root_, error), end; !error && item != end;
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    const std::size_t mark = name.find(kPartialMark);
    if (mark == std::string::npos || !step_of(name.substr(0, mark))) continue;
    fs::remove_all(item->path(), error);
    if (error) throw file_error("remove", item->path().string(), error.value());
  }
}

}  // namespace athanor
