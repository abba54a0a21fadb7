// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The readers behind open_records(), one a format.

#include <memory>

#include "engine/data/record_reader.h"

namespace athanor {

std::unique_ptr<RecordReader> open_json_lines(const SourceFile& file, ReadingLog& log);
std::unique_ptr<RecordReader> open_json(const SourceFile& file, ReadingLog& log);
std::unique_ptr<RecordReader> open_csv(const SourceFile& file, ReadingLog& log);
/// Throws unsupported in a program built without Apache Arrow.
std::unique_ptr<RecordReader> open_parquet(const SourceFile& file, ReadingLog& log);

/// "it is longer than 32 MiB"
std::string too_long_text();

}  // namespace athanor
