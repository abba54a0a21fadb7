// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace athanor {

/// How a file's content is laid out, by its name's ending; .gz or .zst may follow.
enum class SourceKind {
  text,        ///< .txt .text .md
  json_lines,  ///< .jsonl .ndjson
  json,        ///< .json: an array of records, or records one after the other
  csv,         ///< .csv
  tsv,         ///< .tsv .tab
  parquet,     ///< .parquet
};

struct SourceFile {
  std::filesystem::path path;
  SourceKind kind;
  std::int64_t disk_bytes = 0;
  std::int64_t modified_ns = 0;
};

/// The files that `path` names: one file (of any name; an unknown ending counts as text), all files
/// of known kinds below a folder, or those that match a pattern: * and ? within one name, [abc], **
/// for folders of any depth. In the order of their names, byte by byte. Hidden files and folders
/// are passed over; a link to a folder is not followed, so that none leads in circles. Throws
/// not_found for what is not there and for a folder or pattern without files, naming the known
/// endings; io for what cannot be read.
std::vector<SourceFile> find_source_files(const std::string& path);

/// The kind that a file's name tells; text when it tells none.
SourceKind source_kind(const std::filesystem::path& path);

/// Whether `files` are on disk as they were when they were found; else throws busy naming the one
/// that changed.
void check_unchanged(const std::vector<SourceFile>& files);

}  // namespace athanor
