// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/source_files.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/error.h"

namespace athanor {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::pair<std::string_view, SourceKind>, 11> kEndings{{
    {".txt", SourceKind::text},
    {".text", SourceKind::text},
    {".md", SourceKind::text},
    {".jsonl", SourceKind::json_lines},
    {".ndjson", SourceKind::json_lines},
    {".json", SourceKind::json},
    {".csv", SourceKind::csv},
    {".tsv", SourceKind::tsv},
    {".tab", SourceKind::tsv},
    {".parquet", SourceKind::parquet},
    {".pq", SourceKind::parquet},
}};
constexpr std::string_view kEndingsText =
    ".txt, .md, .jsonl, .json, .csv, .tsv and .parquet, most of them also with .gz or .zst";

/// Folders nested deeper are passed over: nobody has such, and no walk may go on without end.
constexpr int kDeepestFolder = 64;

std::optional<SourceKind> known_kind(const fs::path& path) {
  std::string name = path.filename().string();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  for (const auto& [ending, kind] : kEndings) {
    if (name.ends_with(ending)) return kind;
  }
  return {};
}

SourceFile described(const fs::path& path, SourceKind kind) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw file_error("read", path.string(), errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::invalid_argument,
                "Cannot read " + path.string() + ": it is not an ordinary file. Choose a file.");
  }
  return {
      .path = path,
      .kind = kind,
      .disk_bytes = status.st_size,
      .modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

/// Calls `visit(path, depth)` for every ordinary file below `folder` that is not hidden. Links to
/// files count as files, links to folders are not followed; nor are folders deeper than `deepest`.
template <class Visit>
void walk(const fs::path& folder, int deepest, const Visit& visit) {
  std::error_code error;
  fs::recursive_directory_iterator item(folder, error);
  if (error) throw file_error("read folder", folder.string(), error.value());
  while (item != fs::recursive_directory_iterator()) {
    const fs::path path = item->path();
    std::error_code ignored;
    if (is_hidden(path) || item.depth() >= deepest) item.disable_recursion_pending();
    if (!is_hidden(path) && item->is_regular_file(ignored)) visit(path);
    item.increment(error);
    if (error) throw file_error("read folder", path.parent_path().string(), error.value());
  }
}

void sort_by_name(std::vector<SourceFile>& files) {
  std::ranges::sort(files, {}, [](const SourceFile& file) { return file.path.string(); });
}

std::vector<SourceFile> files_below(const fs::path& folder) {
  std::vector<SourceFile> files;
  std::int64_t others = 0;
  walk(folder, kDeepestFolder, [&](const fs::path& path) {
    if (const std::optional<SourceKind> kind = known_kind(path)) {
      files.push_back(described(path, *kind));
    } else {
      ++others;
    }
  });
  if (files.empty()) {
    throw Error(
        ErrorKind::not_found,
        fmt::format("{} holds no files to learn from ({}). Put some there that end in {}.",
                    folder.string(),
                    others == 0 ? "it is empty" : fmt::format("{} files of other kinds", others),
                    kEndingsText));
  }
  sort_by_name(files);
  return files;
}

bool is_pattern(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

using Names = std::vector<std::string>;

/// Whether names from `name` on match the pattern's from `part` on, "**" any number of them.
bool names_match(const Names& pattern, std::size_t part, const Names& names, std::size_t name) {
  if (part == pattern.size()) return name == names.size();
  if (pattern[part] == "**") {
    return names_match(pattern, part + 1, names, name) ||
           (name < names.size() && names_match(pattern, part, names, name + 1));
  }
  return name < names.size() && ::fnmatch(pattern[part].c_str(), names[name].c_str(), 0) == 0 &&
         names_match(pattern, part + 1, names, name + 1);
}

Names names_of_path(const fs::path& path) {
  Names names;
  for (const fs::path& name : path)
    names.push_back(name.string());
  return names;
}

std::vector<SourceFile> files_matching(const std::string& pattern) {
  fs::path folder;
  fs::path rest;
  for (const fs::path& part : fs::path(pattern)) {
    if (rest.empty() && !is_pattern(part.string())) {
      folder /= part;
    } else {
      rest /= part;
    }
  }
  if (folder.empty()) folder = ".";
  Names parts = names_of_path(rest);
  // One after the other they mean the same as one, and would take exponential time.
  parts.erase(std::unique(parts.begin(), parts.end(),
                          [](const auto& a, const auto& b) { return a == "**" && a == b; }),
              parts.end());
  std::vector<SourceFile> files;
  std::error_code error;
  if (fs::is_directory(folder, error)) {
    const bool any_depth = std::ranges::find(parts, "**") != parts.end();
    const int deepest = any_depth ? kDeepestFolder : static_cast<int>(parts.size()) - 1;
    walk(folder, deepest, [&](const fs::path& path) {
      if (names_match(parts, 0, names_of_path(path.lexically_relative(folder)), 0)) {
        files.push_back(described(path, source_kind(path)));
      }
    });
  }
  if (files.empty()) {
    throw Error(ErrorKind::not_found, "No file matches " + pattern +
                                          ". Check the pattern: * and ? stand for parts of one "
                                          "name, ** for folders of any depth.");
  }
  sort_by_name(files);
  return files;
}

}  // namespace

SourceKind source_kind(const fs::path& path) {
  return known_kind(path).value_or(SourceKind::text);
}

std::vector<SourceFile> find_source_files(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return files_below(path);
  // A file's own name may hold what a pattern is made of.
  if (!fs::exists(status) && is_pattern(path)) return files_matching(path);
  return {described(path, source_kind(path))};
}

void check_unchanged(const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    struct stat status {};
    const bool same =
        ::stat(file.path.c_str(), &status) == 0 && status.st_size == file.disk_bytes &&
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec ==
            file.modified_ns;
    if (same) continue;
    throw Error(ErrorKind::busy, file.path.string() +
                                     " was changed while it was read. Wait until nothing writes to "
                                     "it, then start again.");
  }
}

}  // namespace athanor
