// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/take_over.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "engine/store/run_store.h"

namespace athanor {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPiece_bytes = 4 << 20;

struct Content {
  std::vector<fs::path> files;  ///< relative to the folder
  std::int64_t bytes = 0;
};

/// What of a run's folder belongs to it; links to elsewhere and half-written files do not.
Content content_of(const fs::path& folder) {
  Content content;
  std::error_code error;
  for (fs::recursive_directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    const fs::path& path = item->path();
    if (path.filename().string().find(".partial-") != std::string::npos) {
      item.disable_recursion_pending();
    } else if (item->is_regular_file(error) && !item->is_symlink(error) &&
               path.filename() != "lock") {
      content.files.push_back(path.lexically_relative(folder));
      content.bytes += static_cast<std::int64_t>(item->file_size(error));
    }
  }
  if (error) throw file_error("read folder", folder.string(), error.value());
  return content;
}

class Copy {
 public:
  Copy(const Content& content, const CancelToken& cancel, const ProgressCallback& progress)
      : total_bytes_(content.bytes), cancel_(cancel), progress_(progress) {}

  void file(const fs::path& from, const fs::path& to) {
    create_folders(to.parent_path());
    std::ifstream source(from, std::ios::binary);
    if (!source) throw file_error("open", from.string(), errno);
    AtomicFile copy(to);
    while (source) {
      cancel_.throw_if_requested();
      source.read(piece_.data(), static_cast<std::streamsize>(piece_.size()));
      const auto bytes = static_cast<std::size_t>(source.gcount());
      copy.write(std::string_view(piece_.data(), bytes));
      done_bytes_ += static_cast<std::int64_t>(bytes);
      if (progress_) progress_("Copying the run", done_bytes_, total_bytes_);
    }
    if (source.bad()) throw file_error("read", from.string(), EIO);
    copy.commit();
  }

 private:
  std::int64_t total_bytes_;
  const CancelToken& cancel_;
  const ProgressCallback& progress_;
  std::int64_t done_bytes_ = 0;
  std::vector<char> piece_ = std::vector<char>(kPiece_bytes);
};

/// Removed unless it was moved away.
struct TemporaryFolder {
  fs::path path;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

void check_is_run(const fs::path& folder) {
  const fs::path spec = folder / "spec.json";
  std::error_code error;
  if (!fs::is_regular_file(spec, error)) {
    throw Error(ErrorKind::damaged, folder.string() +
                                        " is not a run's folder: it has no spec.json. Choose a "
                                        "folder such as runs/000001 of another machine.");
  }
  run_spec_from_json(read_json_file(spec), spec.string());
  if (!RunLock::held_by_anyone(folder)) return;
  throw Error(ErrorKind::busy,
              "The run in " + folder.string() + " is being trained just now. Stop it there first.");
}

}  // namespace

std::int64_t take_over_run(const fs::path& home, const fs::path& folder, const CancelToken& cancel,
                           const ProgressCallback& progress) {
  check_is_run(folder);
  const Content content = content_of(folder);
  create_folders(home / "runs");
  require_free_disk_bytes(home, content.bytes, "to copy the run");
  const TemporaryFolder arriving{home / "runs" / fmt::format("arriving.partial-{}", ::getpid())};
  Copy copy(content, cancel, progress);
  for (const fs::path& file : content.files)
    copy.file(folder / file, arriving.path / file);
  return RunStore(home).take_over(arriving.path);
}

}  // namespace athanor
