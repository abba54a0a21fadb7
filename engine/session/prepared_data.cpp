// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/prepared_data.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <system_error>

#include "engine/base/checksum.h"
#include "engine/base/json.h"
#include "engine/data/story_corpus.h"

namespace athanor {

namespace {

constexpr std::int64_t kStory_bytes = 10'000'000;
constexpr std::int64_t kStory_questions = 2000;
constexpr std::uint64_t kStory_seed = 20240607;

/// In a run's folder.
constexpr const char* kKeptData = "data";

struct CorpusInfo {
  std::int64_t text_bytes = 0;
  std::int64_t validation_bytes = 0;
  double unigram_entropy = 0;
};

template <class Visitor>
void visit_fields(CorpusInfo& info, Visitor& visitor) {
  visitor("text_bytes", info.text_bytes, Bounds{1, 9e15});
  visitor("validation_bytes", info.validation_bytes, Bounds{1, 9e15});
  visitor("unigram_entropy", info.unigram_entropy, Bounds{0, 100});
}

/// Cross-entropy of the held-out tokens under the training part's frequencies, with one added to
/// each count so that no token is impossible.
double unigram_entropy(const TokenShard& train, const TokenShard& validation) {
  std::vector<double> counts(static_cast<std::size_t>(train.info().vocabulary_size), 1.0);
  for (std::int64_t i = 0; i < train.tokens(); ++i) {
    counts[static_cast<std::size_t>(train.token(i))] += 1;
  }
  const double total = static_cast<double>(train.tokens()) + static_cast<double>(counts.size());
  double sum = 0;
  for (std::int64_t i = 0; i < validation.tokens(); ++i) {
    sum -= std::log(counts[static_cast<std::size_t>(validation.token(i))] / total);
  }
  return sum / static_cast<double>(validation.tokens());
}

PreparedData open_prepared(const std::filesystem::path& folder) {
  const auto info = settings_from_json<CorpusInfo>(read_json_file(folder / "corpus.json"), "");
  return {.folder = folder,
          .tokenizer = Tokenizer::load(folder / "tokenizer.json"),
          .train = TokenShard::open(folder / "train.tokens"),
          .validation = TokenShard::open(folder / "validation.tokens"),
          .text_bytes = info.text_bytes,
          .validation_bytes = info.validation_bytes,
          .unigram_entropy = info.unigram_entropy};
}

[[noreturn]] void refuse_context(const RunSpec& spec, const std::string& finding,
                                 const std::string& next_step) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("model.context of {} tokens is longer than the text: {}. {}",
                          spec.model.context, finding, next_step));
}

/// A token is at least a byte, so this much is certain before any is made.
void check_bytes(const RunSpec& spec, std::size_t bytes, const std::string& text) {
  if (static_cast<std::int64_t>(bytes) > spec.model.context) return;
  refuse_context(spec,
                 fmt::format("{} has only {} bytes, and a token is at least one", text, bytes),
                 "Choose a much smaller context, or a longer text.");
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
  Tokenizer tokenizer = Tokenizer::load(spec.data.tokenizer, spec.data.tokenizer_pattern);
  if (tokenizer.vocabulary_size() > spec.model.vocabulary) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("model.vocabulary of {} is smaller than the {} tokens of {}. Choose {} "
                            "or more.",
                            spec.model.vocabulary, tokenizer.vocabulary_size(), spec.data.tokenizer,
                            padded_vocabulary(tokenizer)));
  }
  return tokenizer;
}

void make_prepared(const std::filesystem::path& folder, const TextFile& text, const RunSpec& spec,
                   std::optional<Tokenizer> named, const CancelToken& cancel,
                   const ProgressCallback& progress) {
  create_folders(folder);
  const Tokenizer tokenizer =
      named ? std::move(*named)
            : train_tokenizer(text.text(), static_cast<std::int32_t>(spec.model.vocabulary), cancel,
                              progress);
  tokenizer.save(folder / "tokenizer.json");
  const TokenizedCorpus corpus =
      tokenize_corpus(text, tokenizer, spec.data.validation_fraction, folder, cancel, progress);
  const CorpusInfo info{
      .text_bytes = corpus.text_bytes,
      .validation_bytes = corpus.validation_bytes,
      .unigram_entropy = unigram_entropy(TokenShard::open(folder / "train.tokens"),
                                         TokenShard::open(folder / "validation.tokens"))};
  write_file_atomically(folder / "corpus.json", settings_to_json(info).dump(2));
}

std::string cache_key(const TextFile& text, const RunSpec& spec,
                      const std::optional<Tokenizer>& named) {
  const std::string settings =
      fmt::format("{} {} {}", checksum_text(checksum(std::as_bytes(std::span(text.text())))),
                  named ? "tokenizer " + checksum_text(named->fingerprint())
                        : fmt::format("{}", spec.model.vocabulary),
                  spec.data.validation_fraction);
  return checksum_text(checksum(std::as_bytes(std::span(settings))));
}

}  // namespace

PreparedData prepare_data(const std::filesystem::path& home, const RunSpec& spec,
                          const CancelToken& cancel, const ProgressCallback& progress) {
  check_run_spec(spec);
  const std::filesystem::path file = spec.data.file.empty()
                                         ? story_corpus_file(home, cancel, progress)
                                         : std::filesystem::path(spec.data.file);
  const TextFile text = TextFile::open(file, cancel, progress);
  check_bytes(spec, text.text().size(), file.string());
  std::optional<Tokenizer> named = named_tokenizer(spec);
  const std::filesystem::path folder = home / "data" / cache_key(text, spec, named);
  const auto open = [&] {
    PreparedData data = open_prepared(folder);
    check_tokens(spec, data.train.tokens(), file.string());
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
  make_prepared(folder, text, spec, std::move(named), cancel, progress);
  return open();
}

void keep_with_run(const PreparedData& data, const std::filesystem::path& run_folder) {
  const std::filesystem::path kept = run_folder / kKeptData;
  create_folders(kept);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(data.folder)) {
    std::filesystem::create_hard_link(entry.path(), kept / entry.path().filename(), ignored);
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
      "The text " + spec.data.file +
          " has changed since this run began, so the run cannot go on as it was. Put the old "
          "text back, or start a new run.");
}

std::filesystem::path story_corpus_file(const std::filesystem::path& home,
                                        const CancelToken& cancel,
                                        const ProgressCallback& progress) {
  const std::filesystem::path folder = home / "data";
  const std::filesystem::path stories = folder / fmt::format("stories-{}.txt", kStoryRecipe);
  const std::filesystem::path questions =
      folder / fmt::format("stories-{}-questions.jsonl", kStoryRecipe);
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
  return home / "data" / fmt::format("stories-{}-questions.jsonl", kStoryRecipe);
}

}  // namespace athanor
