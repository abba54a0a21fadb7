// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/prepared_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "engine/base/checksum.h"
#include "engine/base/json.h"
#include "engine/data/example_loader.h"
#include "engine/session/model_exchange.h"

namespace athanor {

namespace {

/// Format of what is made of records: those of another one are made again.
constexpr int kRecipe = 1;
constexpr const char* kCounts = "examples.json";

struct ExamplesInfo {
  TokenizedConversations counts;
  double unigram_entropy = 0;
};

template <class Visitor>
void visit_fields(ExamplesInfo& info, Visitor& visitor) {
  const Bounds from_zero{0, 9e15};
  visitor("records", info.counts.records, from_zero);
  visitor("train_examples", info.counts.train_examples, from_zero);
  visitor("held_out_examples", info.counts.held_out_examples, from_zero);
  visitor("shortened", info.counts.shortened, from_zero);
  visitor("left_out", info.counts.left_out, from_zero);
  visitor("longest_tokens", info.counts.longest_tokens, from_zero);
  visitor("train_tokens", info.counts.train_tokens, from_zero);
  visitor("held_out_tokens", info.counts.held_out_tokens, from_zero);
  visitor("held_out_bytes", info.counts.held_out_bytes, from_zero);
  visitor("unigram_entropy", info.unigram_entropy, Bounds{0, 100});
}

/// Calls take(token) for each that is trained.
template <class Take>
void for_trained(const ExampleShard& shard, const Take& take) {
  std::int32_t mark = 0;
  for (std::int64_t i = 0; i < shard.tokens().tokens(); ++i) {
    shard.read_marks(i, {&mark, 1});
    if (mark == ExampleShard::kTrained) take(shard.tokens().token(i));
  }
}

/// As of texts, over the trained tokens.
double unigram_entropy(const ExampleShard& train, const ExampleShard& held_out) {
  std::vector<double> counts(static_cast<std::size_t>(train.tokens().info().vocabulary_size), 1.0);
  for_trained(train, [&](std::int32_t token) { counts[static_cast<std::size_t>(token)] += 1; });
  const double total = static_cast<double>(train.trained()) + static_cast<double>(counts.size());
  double sum = 0;
  for_trained(held_out, [&](std::int32_t token) {
    sum -= std::log(counts[static_cast<std::size_t>(token)] / total);
  });
  return sum / static_cast<double>(held_out.trained());
}

ExamplesInfo read_info(const std::filesystem::path& folder) {
  return settings_from_json<ExamplesInfo>(read_json_file(folder / kCounts), "");
}

PreparedData open_prepared(const std::filesystem::path& folder) {
  const ExamplesInfo info = read_info(folder);
  PreparedData data{.folder = folder,
                    .tokenizer = Tokenizer::load(folder / "tokenizer.json"),
                    .train = TokenShard::open(folder / "train.tokens"),
                    .validation = TokenShard::open(folder / "validation.tokens"),
                    .validation_bytes = info.counts.held_out_bytes,
                    .unigram_entropy = info.unigram_entropy};
  data.train_examples.emplace(ExampleShard::open(folder, "train"));
  data.validation_examples.emplace(ExampleShard::open(folder, "validation"));
  return data;
}

ConversationOptions options_of(const RunSpec& spec) {
  return {.loss = spec.fine_tuning.loss,
          .truncation = spec.fine_tuning.truncation,
          .context = spec.model.context,
          .held_out_fraction = spec.fine_tuning.held_out_fraction};
}

std::string cache_key(const RunSpec& spec, const Tokenizer& tokenizer, std::int32_t begin) {
  FineTuning tuning = spec.fine_tuning;
  tuning.records.clear();
  tuning.epochs = 0;
  const MappedFile records(spec.fine_tuning.records);
  const std::string settings =
      fmt::format("examples {} {} {} {} {} {}", kRecipe, checksum_text(checksum(records.bytes())),
                  checksum_text(tokenizer.fingerprint()), begin, spec.model.context,
                  settings_to_json(tuning).dump(-1, ' ', false, Json::error_handler_t::replace));
  return checksum_text(checksum(std::as_bytes(std::span(settings))));
}

}  // namespace

PreparedData prepare_examples(const std::filesystem::path& home, const RunSpec& spec,
                              const Tokenizer& tokenizer, std::int32_t begin_of_text,
                              const CancelToken& cancel, const ProgressCallback& progress) {
  check_run_spec(spec);
  const ChatTemplate chat(spec.fine_tuning.style(), tokenizer, begin_of_text);
  const std::filesystem::path folder = home / "data" / cache_key(spec, tokenizer, begin_of_text);
  std::error_code error;
  if (std::filesystem::exists(folder / kCounts, error)) {
    try {
      return open_prepared(folder);
    } catch (const Error&) {
      // A damaged cache is made again.
    }
  }
  create_folders(folder);
  tokenizer.save(folder / "tokenizer.json");
  ExamplesInfo info{.counts = tokenize_conversations(spec.fine_tuning.records, chat,
                                                     options_of(spec), folder, cancel, progress)};
  info.unigram_entropy = unigram_entropy(ExampleShard::open(folder, "train"),
                                         ExampleShard::open(folder, "validation"));
  write_file_atomically(folder / kCounts, settings_to_json(info).dump(2));
  return open_prepared(folder);
}

PreparedData reopen_examples(const std::filesystem::path& home, const std::string& key,
                             const std::filesystem::path& run_folder, const RunSpec& spec,
                             const CancelToken& cancel, const ProgressCallback& progress) {
  for (const std::filesystem::path& folder : {home / "data" / key, run_folder / "data"}) {
    try {
      return open_prepared(folder);
    } catch (const Error&) {
      continue;
    }
  }
  const Tokenizer tokenizer = Tokenizer::load(run_folder / "tokenizer.json");
  PreparedData data = prepare_examples(
      home, spec, tokenizer, model_card_of(run_folder, tokenizer).begin_of_text, cancel, progress);
  if (data.folder.filename() == key) return data;
  throw Error(ErrorKind::damaged,
              "The records in " + spec.fine_tuning.records +
                  " have changed since this run began, so the run cannot go on as it was. Put the "
                  "old ones back, or start a new run.");
}

TokenizedConversations counts_of_examples(const std::filesystem::path& folder) {
  return read_info(folder).counts;
}

Notice notice_of_examples(const std::filesystem::path& folder) {
  const TokenizedConversations counts = read_info(folder).counts;
  if (counts.left_out + counts.shortened == 0) return {};
  return {
      .title = "Not every record is trained as it is",
      .text = fmt::format(
          "Of {} records {} were left out and {} shortened: they are longer than the context, "
          "or nothing in them is an answer to train. The longest has {} tokens. Choose a longer "
          "context or another way to shorten if you miss them.",
          counts.records, counts.left_out, counts.shortened, counts.longest_tokens),
      .details = {}};
}

void count_steps(RunSpec& spec, const PreparedData& data) {
  if (spec.fine_tuning.epochs <= 0) return;
  const std::int64_t rows = PackedRows(*data.train_examples, spec.model.context).rows();
  const double rows_in_step =
      static_cast<double>(spec.train.micro_batch * spec.train.gradient_accumulation);
  const auto steps_of = [&](double epochs) {
    return std::max<std::int64_t>(
        1, std::llround(std::ceil(static_cast<double>(rows) * epochs / rows_in_step)));
  };
  spec.train.steps = steps_of(spec.fine_tuning.epochs);
  const std::int64_t epoch = steps_of(1);
  for (std::int64_t* interval : {&spec.train.evaluation_interval, &spec.train.checkpoint_interval})
    if (*interval > 0) *interval = std::min(*interval, epoch);
}

}  // namespace athanor
