// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/document_reader.h"
#include "tests/fuzz/fuzz_reader.h"
#include "tests/fuzz/scratch_folder.h"

/// The first byte chooses how documents end. Nothing of a text is lost or made up but what
/// separates documents.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  static const ScratchFolder folder;
  if (size == 0) return 0;
  return fuzz_reader(data + 1, size - 1, [&](std::string_view text) {
    const SourceFile file{.path = folder.write("a.txt", text), .kind = SourceKind::text};
    const CorpusSource source{
        .path = file.path, .boundary = static_cast<Boundary>(data[0] % 4), .separator = "\n-"};
    ReadingLog log({.invalid_utf8 = data[0] & 8 ? InvalidUtf8::keep : InvalidUtf8::replace});
    DocumentReader reader(source, {file}, log);
    std::size_t bytes = 0;
    for (DocumentPart part; reader.next(part); bytes += part.text.size()) {
      if (part.text.empty() || !part.begins || !part.ends) __builtin_trap();
    }
    // A byte of UTF-16 or none of UTF-8 becomes up to three.
    if (bytes > 3 * text.size()) __builtin_trap();
  });
}
