// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/settings.h"

namespace athanor {

/// Where a document of a plain text ends. Of records (JSON, CSV, Parquet) each is a document.
enum class Boundary {
  mark,        ///< at a line holding only "<|endoftext|>", which is not part of it
  file,        ///< at the file's end
  blank_line,  ///< at one or more empty lines
  separator,   ///< at CorpusSource::separator
};
constexpr std::array<std::string_view, 4> names_of(Boundary) {
  return {"mark", "file", "blank_line", "separator"};
}

/// One place that text to train on comes from.
struct CorpusSource {
  /// A file, a folder (all files of known kinds below it) or a pattern with *, ?, [abc] or **.
  std::string path;
  /// How often its documents occur in one pass over the data: 2 is twice each, 0.5 every other.
  double weight = 1;
  /// Of records: the field that is the text, or a template such as "{title}\n\n{text}". Empty: the
  /// field is looked for (see TextMapping::detect).
  std::string text;
  Boundary boundary = Boundary::mark;
  std::string separator;  ///< for Boundary::separator; it is no part of a document

  friend bool operator==(const CorpusSource&, const CorpusSource&) = default;
};

template <class Visitor>
void visit_fields(CorpusSource& source, Visitor& visitor) {
  visitor("path", source.path);
  visitor("weight", source.weight, Bounds{0.01, 100});
  visitor("text", source.text);
  visitor("boundary", source.boundary);
  visitor("separator", source.separator);
}

/// Throws invalid_argument naming `place` for a source without a path, a template that is none, or
/// a separator that is missing.
void check_source(const CorpusSource& source, const std::string& place);

/// What to do with a record that is not valid.
enum class BadRecords { skip, fail };
constexpr std::array<std::string_view, 2> names_of(BadRecords) {
  return {"skip", "fail"};
}

/// What to do with bytes that are not UTF-8: each becomes U+FFFD, or stays, or ends the reading.
enum class InvalidUtf8 { replace, keep, fail };
constexpr std::array<std::string_view, 3> names_of(InvalidUtf8) {
  return {"replace", "keep", "fail"};
}

/// How reading goes on after a fault. Faults are counted either way (ReadingLog).
struct ReadOptions {
  BadRecords bad_records = BadRecords::skip;
  InvalidUtf8 invalid_utf8 = InvalidUtf8::replace;
};

/// Which documents are left out because an earlier one is the same (see DuplicateFilter).
enum class Duplicates { keep, remove_exact, remove_near };
constexpr std::array<std::string_view, 3> names_of(Duplicates) {
  return {"keep", "remove_exact", "remove_near"};
}

/// What becomes of all sources' documents.
struct CorpusOptions {
  ReadOptions read;
  Duplicates duplicates = Duplicates::keep;
  double similarity = 0.8;  ///< of remove_near: documents at least this alike are the same
};

template <class Visitor>
void visit_fields(CorpusOptions& options, Visitor& visitor) {
  visitor("bad_records", options.read.bad_records);
  visitor("invalid_utf8", options.read.invalid_utf8);
  visitor("duplicates", options.duplicates);
  visitor("similarity", options.similarity, Bounds{0.5, 1});
}

}  // namespace athanor
