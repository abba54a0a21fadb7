// SPDX-License-Identifier: GPL-3.0-or-later
// Encodes documents with a tokenizer and tells how long that took: what the comparisons with
// `tokenizers` and `tiktoken` are made with (tests/golden/compare_tokenizers.py,
// tests/bench/tokenizer_speed.py).
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/data/token_encoder.h"

namespace athanor {
namespace {

/// A file of documents: for each its bytes (u32), then these.
std::vector<std::string_view> documents_of(std::string_view file) {
  std::vector<std::string_view> documents;
  while (file.size() >= 4) {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, file.data(), 4);
    documents.push_back(file.substr(4, bytes));
    file.remove_prefix(4 + documents.back().size());
  }
  return documents;
}

struct Options {
  std::string tokenizer;
  std::string pattern;
  std::string documents;
  std::string out;
  bool special_tokens = false;
  int repetitions = 1;
};

void run(const Options& options) {
  const Stopwatch loading;
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer, options.pattern);
  const double load_seconds = loading.seconds();
  const std::string file = read_small_file(options.documents, std::int64_t{1} << 31);
  const std::vector<std::string_view> documents = documents_of(file);
  std::vector<std::int32_t> ids;
  std::vector<std::uint32_t> counts;
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    ids.clear();
    counts.clear();
    const Stopwatch watch;
    const std::clock_t cpu = std::clock();
    TokenEncoder encoder(tokenizer);
    for (const std::string_view document : documents) {
      const std::size_t first = ids.size();
      encoder.encode(document, ids, {.special_tokens = options.special_tokens});
      counts.push_back(static_cast<std::uint32_t>(ids.size() - first));
    }
    const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    std::printf(
        "{\"load_seconds\": %.4f, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"bytes\": %zu, "
        "\"tokens\": %zu}\n",
        load_seconds, watch.seconds(), cpu_seconds, file.size() - 4 * documents.size(), ids.size());
  }
  if (options.out.empty()) return;
  std::ofstream out(options.out, std::ios::binary);
  std::size_t at = 0;
  for (const std::uint32_t count : counts) {
    out.write(reinterpret_cast<const char*>(&count), 4);
    out.write(reinterpret_cast<const char*>(ids.data() + at), 4 * std::streamsize{count});
    at += count;
  }
}

}  // namespace
}  // namespace athanor

int main(int count, char** arguments) {
  CLI::App app("Encodes documents with a tokenizer");
  athanor::Options options;
  app.add_option("tokenizer", options.tokenizer, "Tokenizer file or folder")->required();
  app.add_option("documents", options.documents, "u32 length and bytes of each")->required();
  app.add_option("--pattern", options.pattern, "Of a tiktoken file");
  app.add_option("--out", options.out, "Where u32 count and i32 ids of each go");
  app.add_option("--repeat", options.repetitions, "Times to encode");
  app.add_flag("--special", options.special_tokens, "Special tokens in the text are tokens");
  CLI11_PARSE(app, count, arguments);
  try {
    athanor::run(options);
  } catch (const athanor::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
