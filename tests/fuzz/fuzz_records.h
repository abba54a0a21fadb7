// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/utf8.h"
#include "engine/data/record_reader.h"
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/scratch_folder.h"

namespace athanor {

/// Reads the fuzzer's bytes as a file of records of this name. Their lines never fall, and what was
/// text when it was read is UTF-8.
inline int fuzz_records(const std::uint8_t* data, std::size_t size, const std::string& name) {
  static const ScratchFolder folder;
  return fuzz_reader(data, size, [&](std::string_view text) {
    const SourceFile file{.path = folder.write(name, text), .kind = source_kind(name)};
    ReadingLog log({});
    const std::unique_ptr<RecordReader> reader = open_records(file, log);
    std::int64_t line = 1;
    for (Record record; reader->next(record); line = record.line) {
      if (!record.fields.is_object() || record.line < line) __builtin_trap();
      if (!is_utf8(record.fields.dump())) __builtin_trap();
    }
    if (static_cast<std::size_t>(reader->disk_bytes()) > size) __builtin_trap();
  });
}

}  // namespace athanor
