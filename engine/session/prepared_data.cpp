// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/prepared_data.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <system_error>

#include "engine/base/atomic_folder.h"
#include "engine/base/checksum.h"
#include "engine/base/json.h"
#include "engine/data/story_corpus.h"
#include "engine/exchange/open_tokenizer.h"

namespace athanor {

namespace {

constexpr std::int64_t kStory_bytes = 10'000'000;
/// So many that questions about a text of their own teach a small model to look there.
constexpr std::int64_t kStory_questions = 10'000;
constexpr std::uint64_t kStory_seed = 20240607;

std::string questions_name() {
  return fmt::format("stories-{}-questions-{}.jsonl", kStoryRecipe, kStory_questions);
}

/// What a tokenizer is trained on at most.
constexpr std::int64_t kTokenizerSample_bytes = 32 << 20;
/// Of text, about; for the room that tokens will take.
constexpr std::int64_t kBytesPerToken = 4;

/// In a run's folder.
constexpr const char* kKeptData = "data";
/// In the folder of prepared data.
constexpr const char* kBadRecords = "bad-records.txt";

struct CorpusInfo {
  std::int64_t validation_bytes = 0;
  double unigram_entropy = 0;
  std::string fingerprint;  ///< empty in what was prepared before there were any
  CorpusCounts counts;
};

template <class Visitor>
void visit_fields(CorpusInfo& info, Visitor& visitor) {
  constexpr Bounds kCount{0, 9e15};
  visitor("text_bytes", info.counts.text_bytes, Bounds{1, 9e15});
  visitor("validation_bytes", info.validation_bytes, Bounds{1, 9e15});
  visitor("unigram_entropy", info.unigram_entropy, Bounds{0, 100});
  visitor("fingerprint", info.fingerprint);
  visitor("documents", info.counts.documents, kCount);
  visitor("tokens", info.counts.tokens, kCount);
  visitor("duplicates", info.counts.duplicates, kCount);
  visitor("bad_records", info.counts.bad_records, kCount);
  visitor("invalid_bytes", info.counts.invalid_bytes, kCount);
}

/// Cross-entropy of the held-out tokens under the training part's frequencies, with one added to
/// each count so that no token is impossible.
double unigram_entropy(const TokenShard& train, const TokenShard& validation) {
  std::vector<double> counts(static_cast<std::size_t>(train.info().vocabulary_size), 1.0);
  train.for_chunks([&](std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids)
      counts[static_cast<std::size_t>(id)] += 1;
  });
  const double total = static_cast<double>(train.tokens()) + static_cast<double>(counts.size());
  double sum = 0;
  validation.for_chunks([&](std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids)
      sum -= std::log(counts[static_cast<std::size_t>(id)] / total);
  });
  return sum / static_cast<double>(validation.tokens());
}

PreparedData open_prepared(const std::filesystem::path& folder) {
  const auto info = settings_from_json<CorpusInfo>(read_json_file(folder / "corpus.json"), "");
  return {.folder = folder,
          .tokenizer = Tokenizer::load(folder / "tokenizer.json"),
          .train = TokenShard::open(folder / "train.tokens"),
          .validation = TokenShard::open(folder / "validation.tokens"),
          .text_bytes = info.counts.text_bytes,
          .validation_bytes = info.validation_bytes,
          .unigram_entropy = info.unigram_entropy,
          .fingerprint = info.fingerprint,
          .counts = info.counts};
}

[[noreturn]] void refuse_context(const RunSpec& spec, const std::string& finding,
                                 const std::string& next_step) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("model.context of {} tokens is longer than the text: {}. {}",
                          spec.model.context, finding, next_step));
}

void check_tokens(const RunSpec& spec, std::int64_t tokens, const std::string& text) {
  if (tokens > spec.model.context) return;
  refuse_context(spec, fmt::format("{} has {} tokens to train on", text, tokens),
                 tokens > kLeastContext
                     ? fmt::format("Choose a context of at most {}, or a longer text.", tokens - 1)
                     : std::string("Choose a longer text."));
}

/// The tokenizer that the settings name, if they do.
std::optional<Tokenizer> named_tokenizer(const RunSpec& spec) {
  if (spec.data.tokenizer.empty()) return {};
  Tokenizer tokenizer = open_tokenizer(spec.data.tokenizer, spec.data.tokenizer_pattern);
  if (tokenizer.vocabulary_size() > spec.model.vocabulary) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("model.vocabulary of {} is smaller than the {} tokens of {}. Choose {} "
                            "or more.",
                            spec.model.vocabulary, tokenizer.vocabulary_size(), spec.data.tokenizer,
                            padded_vocabulary(tokenizer)));
  }
  return tokenizer;
}

/// One line for each record that could not be used, as far as they were kept.
std::string bad_records_text(const ReadingLog& log) {
  std::string text;
  for (const BadRecord& bad : log.kept())
    text += fmt::format("{}, line {}: {}\n", bad.file, bad.line, bad.cause);
  return text;
}

/// Fills an empty folder.
void make_prepared(const std::filesystem::path& folder, const Corpus& corpus,
                   const std::string& fingerprint, const RunSpec& spec,
                   std::optional<Tokenizer> named, const CancelToken& cancel,
                   const ProgressCallback& progress, const CorpusCallback& tell) {
  const auto trained = [&] {
    const std::string sample = sample_text(corpus, kTokenizerSample_bytes, cancel, tell);
    return train_tokenizer(sample, static_cast<std::int32_t>(spec.model.vocabulary), cancel,
                           progress, static_cast<std::int64_t>(sample.size()));
  };
  const Tokenizer tokenizer = named ? std::move(*named) : trained();
  tokenizer.save(folder / "tokenizer.json");
  const TokenizedCorpus made =
      tokenize_corpus(corpus, tokenizer, spec.data.validation_fraction, folder, cancel, tell);
  if (made.log.bad_records() > 0) {
    write_file_atomically(folder / kBadRecords, bad_records_text(made.log));
  }
  const CorpusInfo info{
      .validation_bytes = made.validation_bytes,
      .unigram_entropy = unigram_entropy(TokenShard::open(folder / "train.tokens"),
                                         TokenShard::open(folder / "validation.tokens")),
      .fingerprint = fingerprint,
      .counts = made.counts};
  write_file_atomically(folder / "corpus.json", settings_to_json(info).dump(2));
}

std::string cache_key(const std::string& fingerprint, const RunSpec& spec,
                      const std::optional<Tokenizer>& named) {
  const std::string settings =
      fmt::format("{} {} {}", fingerprint,
                  named ? "tokenizer " + checksum_text(named->fingerprint())
                        : fmt::format("{}", spec.model.vocabulary),
                  spec.data.validation_fraction);
  return checksum_text(checksum(std::as_bytes(std::span(settings))));
}

/// The fingerprint of a corpus; what must be read for it of large files is remembered in `home`.
std::string fingerprint_of(const std::filesystem::path& home, const Corpus& corpus,
                           const CancelToken& cancel, const CorpusCallback& tell) {
  const std::filesystem::path file = home / "data" / "file-hashes.json";
  Json remembered = Json::object();
  try {
    remembered = read_json_file(file);
  } catch (const Error&) {
    remembered = Json::object();  // not there yet, or damaged: all is read again
  }
  const std::size_t known = remembered.size();
  std::string fingerprint = corpus_fingerprint(corpus, remembered, cancel, tell);
  if (remembered.size() != known) {
    create_folders(file.parent_path());
    write_file_atomically(file, remembered.dump(1));
  }
  return fingerprint;
}

}  // namespace

PreparedData prepare_data(const std::filesystem::path& home, const RunSpec& spec,
                          const CancelToken& cancel, const ProgressCallback& progress,
                          const CorpusCallback& corpus_progress) {
  check_run_spec(spec);
  const auto tell = [&](const CorpusProgress& now) {
    if (corpus_progress) corpus_progress(now);
    if (progress) progress(now.stage, now.done_bytes, now.total_bytes);
  };
  std::vector<CorpusSource> sources = spec.sources;
  if (sources.empty()) sources.push_back({.path = story_corpus_file(home, cancel, progress)});
  const Corpus corpus(sources, spec.data.corpus);
  corpus.check_beginnings(cancel);
  std::optional<Tokenizer> named = named_tokenizer(spec);
  const std::string fingerprint = fingerprint_of(home, corpus, cancel, tell);
  const std::filesystem::path folder = home / "data" / cache_key(fingerprint, spec, named);
  const auto open = [&] {
    PreparedData data = open_prepared(folder);
    check_tokens(spec, data.train.tokens(), corpus.name());
    return data;
  };
  std::error_code error;
  if (std::filesystem::exists(folder / "corpus.json", error)) {
    try {
      return open();
    } catch (const Error& problem) {
      if (problem.kind() == ErrorKind::invalid_argument) throw;
    }
  }
  std::filesystem::remove_all(folder, error);
  create_folders(folder.parent_path());
  AtomicFolder made(folder, 2 * corpus.disk_bytes() / kBytesPerToken);
  make_prepared(made.path(), corpus, fingerprint, spec, std::move(named), cancel, progress, tell);
  try {
    made.commit();
  } catch (const Error&) {
    // Another process may have made the same meanwhile.
    if (!std::filesystem::exists(folder / "corpus.json", error)) throw;
  }
  return open();
}

Notice notice_about(const PreparedData& data) {
  const CorpusCounts& counts = data.counts;
  std::string text;
  if (counts.bad_records > 0) {
    text = fmt::format("{} not valid and left out, the first listed in {}.",
                       counts.bad_records == 1 ? std::string("One record was")
                                               : fmt::format("{} records were", counts.bad_records),
                       (data.folder / kBadRecords).string());
  }
  if (counts.invalid_bytes > 0) {
    text += fmt::format("{}{} bytes are not UTF-8.", text.empty() ? "" : " ", counts.invalid_bytes);
  }
  if (text.empty()) return {};
  return {.title = "Not all of the data is as it should be", .text = text, .details = {}};
}

void keep_with_run(const PreparedData& data, const std::filesystem::path& run_folder) {
  const std::filesystem::path kept = run_folder / kKeptData;
  create_folders(kept);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(data.folder)) {
    std::filesystem::create_hard_link(entry.path(), kept / entry.path().filename(), ignored);
  }
}

std::string kept_fingerprint(const std::filesystem::path& run_folder) {
  try {
    const Json json = read_json_file(run_folder / kKeptData / "corpus.json");
    return settings_from_json<CorpusInfo>(json, "").fingerprint;
  } catch (const Error&) {
    return {};
  }
}

PreparedData reopen_data(const std::filesystem::path& home, const std::string& key,
                         const std::filesystem::path& run_folder, RunSpec spec,
                         const CancelToken& cancel, const ProgressCallback& progress) {
  for (const std::filesystem::path& folder : {home / "data" / key, run_folder / kKeptData}) {
    try {
      return open_prepared(folder);
    } catch (const Error&) {
      continue;
    }
  }
  // The file it came from may have gone or changed since.
  if (!spec.data.tokenizer.empty()) spec.data.tokenizer = run_folder / "tokenizer.json";
  spec.data.tokenizer_pattern.clear();
  PreparedData data = prepare_data(home, spec, cancel, progress);
  if (data.folder.filename() == key) return data;
  throw Error(
      ErrorKind::damaged,
      "The text " + spec.sources.front().path +
          " has changed since this run began, so the run cannot go on as it was. Put the old "
          "text back, or start a new run.");
}

std::filesystem::path story_corpus_file(const std::filesystem::path& home,
                                        const CancelToken& cancel,
                                        const ProgressCallback& progress) {
  const std::filesystem::path folder = home / "data";
  const std::filesystem::path stories = folder / fmt::format("stories-{}.txt", kStoryRecipe);
  const std::filesystem::path questions = folder / questions_name();
  std::error_code error;
  if (!std::filesystem::exists(stories, error) || !std::filesystem::exists(questions, error)) {
    create_folders(folder);
    write_story_questions(questions, kStory_questions, kStory_seed);
    write_story_corpus(stories, kStory_bytes, kStory_seed, cancel, progress);
  }
  return stories;
}

std::filesystem::path story_questions_file(const std::filesystem::path& home,
                                           const CancelToken& cancel,
                                           const ProgressCallback& progress) {
  story_corpus_file(home, cancel, progress);
  return home / "data" / questions_name();
}

}  // namespace athanor
