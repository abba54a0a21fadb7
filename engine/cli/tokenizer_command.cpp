// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "engine/base/checksum.h"
#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/setting_options.h"
#include "engine/data/text_file.h"
#include "engine/data/tokenizer_comparison.h"
#include "engine/data/tokenizer_description.h"
#include "engine/exchange/open_tokenizer.h"

namespace athanor {

namespace {

struct TokenizerOptions {
  std::string data;
  std::string vocabulary = "16384";
  std::string out;
  std::string sample_megabytes = "256";
  std::string path;
  std::string pattern;
  std::string text;
  std::vector<std::string> paths;
};

std::string quoted_token(std::string_view bytes) {
  return Json(std::string(bytes)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

int train(const TokenizerOptions& options, const GlobalOptions& global) {
  const auto vocabulary = static_cast<std::int32_t>(
      whole_number("--vocabulary", options.vocabulary, Bounds{257, 1 << 20}));
  const std::int64_t sample_bytes =
      whole_number("--sample", options.sample_megabytes, Bounds{1, 1 << 20}) * 1'000'000;
  const int threads =
      global.threads.empty()
          ? 0
          : static_cast<int>(whole_number("--threads", global.threads, Bounds{0, 1024}));
  const CancelToken cancel;
  const TextFile text = TextFile::open(options.data, cancel);
  const Tokenizer tokenizer =
      train_tokenizer(text.text(), vocabulary, cancel, {}, sample_bytes, threads);
  const std::filesystem::path file = std::filesystem::path(options.out) / "tokenizer.json";
  create_folders(options.out);
  tokenizer.save(file);
  if (global.json) {
    print_json({{"tokenizer", file.string()},
                {"vocabulary", tokenizer.vocabulary_size()},
                {"padded_vocabulary", padded_vocabulary(tokenizer)}});
  } else {
    print_line(fmt::format("{} tokens learned and written to {}",
                           grouped(tokenizer.vocabulary_size()), file.string()));
  }
  return kSuccess;
}

Json added_as_json(const Tokenizer& tokenizer) {
  Json list = Json::array();
  for (const AddedToken& token : tokenizer.description().added)
    list.push_back({{"id", token.id}, {"content", token.content}, {"special", token.special}});
  return list;
}

int show(const TokenizerOptions& options, const GlobalOptions& global) {
  const Tokenizer tokenizer = open_tokenizer(options.path, options.pattern);
  const TokenizerDescription& description = tokenizer.description();
  const auto unused = static_cast<std::int64_t>(tokenizer.unused_ids().size());
  if (global.json) {
    print_json(
        {{"tokenizer", options.path},
         {"fingerprint", checksum_text(tokenizer.fingerprint())},
         {"vocabulary", tokenizer.vocabulary_size()},
         {"padded_vocabulary", padded_vocabulary(tokenizer)},
         {"unused", unused},
         {"merges", description.merges.size()},
         {"end_of_text", {{"id", tokenizer.end_of_text()}, {"content", description.end_of_text}}},
         {"added", added_as_json(tokenizer)},
         {"normalizer", Json::parse(description.normalizer)},
         {"pre_tokenizer", Json::parse(description.pre_tokenizer)},
         {"post_processor", Json::parse(description.post_processor)}});
    return kSuccess;
  }
  const auto line = [](const char* name, const std::string& value) {
    print_line(fmt::format("{:<14} {}", name, single_line(value)));
  };
  line("Tokens",
       fmt::format("{}; a model needs {} or more, a multiple of 64",
                   grouped(tokenizer.vocabulary_size()), grouped(padded_vocabulary(tokenizer))));
  if (unused > 0) line("Unused ids", grouped(unused));
  line("Merges", grouped(static_cast<std::int64_t>(description.merges.size())));
  line("End of text", fmt::format("{} ({})", description.end_of_text, tokenizer.end_of_text()));
  line("Added tokens", grouped(static_cast<std::int64_t>(description.added.size())));
  line("Normalizer", description.normalizer);
  line("Cuts text by", description.pre_tokenizer);
  if (description.post_processor != "null") {
    line("Not applied", "post_processor " + description.post_processor +
                            ": Athanor puts the end-of-text token itself");
  }
  line("Fingerprint", checksum_text(tokenizer.fingerprint()));
  return kSuccess;
}

int encode(const TokenizerOptions& options, const GlobalOptions& global) {
  const Tokenizer tokenizer = open_tokenizer(options.path, options.pattern);
  if (options.data.empty() == options.text.empty()) {
    throw Error(ErrorKind::invalid_argument, "Say what to encode: --text TEXT or --data FILE.");
  }
  std::vector<std::int32_t> ids;
  if (options.data.empty()) {
    ids = tokenizer.encode(options.text);
  } else {
    ids = tokenizer.encode(TextFile::open(options.data, CancelToken()).text());
  }
  if (global.json) {
    print_json({{"ids", ids}});
    return kSuccess;
  }
  for (const std::int32_t id : ids)
    print(fmt::format("{:>8}  {}\n", id, quoted_token(tokenizer.token_bytes(id))));
  return kSuccess;
}

int compare(const TokenizerOptions& options, const GlobalOptions& global) {
  const CancelToken cancel;
  const TextFile text = TextFile::open(options.data, cancel);
  Json list = Json::array();
  if (!global.json) {
    print_line(fmt::format("{:>11} {:>11} {:>11} {:>12}  {}", "bytes/token", "tokens/word", "used",
                           "of", "tokenizer"));
  }
  for (const std::string& path : options.paths) {
    const Tokenizer tokenizer = open_tokenizer(path, options.pattern);
    const TokenizerMeasure measure = measure_tokenizer(tokenizer, text.text(), cancel);
    if (global.json) {
      list.push_back({{"tokenizer", path},
                      {"vocabulary", measure.vocabulary_size},
                      {"text_bytes", measure.text_bytes},
                      {"words", measure.words},
                      {"tokens", measure.tokens},
                      {"used_tokens", measure.used_tokens},
                      {"bytes_per_token", measure.bytes_per_token()},
                      {"tokens_per_word", measure.tokens_per_word()},
                      {"seconds", measure.seconds}});
      continue;
    }
    print_line(fmt::format("{:>11.3f} {:>11.3f} {:>11} {:>12}  {}", measure.bytes_per_token(),
                           measure.tokens_per_word(), grouped(measure.used_tokens),
                           grouped(measure.vocabulary_size), single_line(path)));
  }
  if (global.json) print_json(list);
  return kSuccess;
}

}  // namespace

void add_tokenizer_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand("tokenizer", "Train, show, try and compare tokenizers");
  command->require_subcommand(1);
  const auto options = std::make_shared<TokenizerOptions>();
  const auto add = [&](const char* name, const char* help, auto* run) {
    CLI::App* each = command->add_subcommand(name, help);
    each->fallthrough();
    each->callback([options, &global, &action, run] {
      action = [options, &global, run] { return run(*options, global); };
    });
    return each;
  };
  const auto add_pattern = [&](CLI::App* each) {
    each->add_option("--pattern", options->pattern,
                     "How a tiktoken file cuts text: gpt2, cl100k, o200k, llama3, qwen2 …")
        ->type_name("NAME");
  };
  const auto add_path = [&](CLI::App* each) {
    each->add_option("PATH", options->path, "A tokenizer's file or folder")->required();
    add_pattern(each);
  };

  CLI::App* learn = add("train", "Learn a tokenizer from a text", train);
  learn->add_option("--data", options->data, "A UTF-8 text")->type_name("FILE")->required();
  learn->add_option("--out", options->out, "The folder it is written to")
      ->type_name("FOLDER")
      ->required();
  learn->add_option("--vocabulary", options->vocabulary, "Different tokens")->type_name("N");
  learn
      ->add_option("--sample", options->sample_megabytes,
                   "Read at most this much of the text, evenly")
      ->type_name("MB");
  add_path(add("show", "Say what a tokenizer is", show));
  CLI::App* encoding = add("encode", "Show the tokens of a text", encode);
  add_path(encoding);
  encoding->add_option("--text", options->text, "The text")->type_name("TEXT");
  encoding->add_option("--data", options->data, "A UTF-8 text file")->type_name("FILE");
  CLI::App* comparing = add("compare", "Say how tokenizers do on a text", compare);
  comparing->add_option("PATH", options->paths, "Tokenizers' files or folders")->required();
  comparing->add_option("--data", options->data, "A UTF-8 text")->type_name("FILE")->required();
  add_pattern(comparing);
}

}  // namespace athanor
