// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/setting_options.h"
#include "engine/cli/source_options.h"
#include "engine/data/source_preview.h"

namespace athanor {

namespace {

constexpr std::array kReadSettings = {
    SettingOption{"--bad-records", "data", "bad_records",
                  "skip or fail: what to do with records that are not valid"},
    SettingOption{"--invalid-utf8", "data", "invalid_utf8",
                  "replace, keep or fail: what to do with bytes that are not UTF-8"},
};
constexpr std::size_t kShownText_bytes = 200;

struct InspectOptions {
  SourceOptions sources;
  SettingOptions settings{kReadSettings};
  std::string records = "5";
  std::string read = "0";
};

Json as_json(const SourcePreview& preview) {
  Json fields = Json::array();
  for (const FieldSummary& field : preview.fields) {
    fields.push_back({{"name", field.name},
                      {"type", field.type},
                      {"records", field.records},
                      {"example", field.example}});
  }
  Json records = Json::array();
  for (const PreviewedRecord& record : preview.first) {
    records.push_back({{"file", record.file},
                       {"line", record.line},
                       {"content", record.content},
                       {"text", record.text},
                       {"problem", record.problem}});
  }
  Json bad = Json::array();
  for (const BadRecord& record : preview.bad)
    bad.push_back({{"file", record.file}, {"line", record.line}, {"cause", record.cause}});
  Json files = Json::array();
  for (const SourceFile& file : preview.files)
    files.push_back({{"path", file.path.string()}, {"bytes", file.disk_bytes}});
  return {{"files", files},
          {"disk_bytes", preview.disk_bytes},
          {"documents", preview.documents},
          {"text_bytes", preview.text_bytes},
          {"complete", preview.complete},
          {"text_field", preview.text},
          {"fields", fields},
          {"records", records},
          {"bad_records", preview.bad_records},
          {"bad", bad},
          {"invalid_bytes", preview.invalid_bytes},
          {"first_invalid", preview.first_invalid},
          {"problem", preview.problem}};
}

/// On one line, and not too long for it.
std::string shown(std::string text) {
  const std::string line = single_line(std::move(text));
  if (line.size() <= kShownText_bytes) return line;
  std::size_t end = kShownText_bytes;
  while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80)
    --end;
  return line.substr(0, end) + "…";
}

void show(const std::string& path, const SourcePreview& preview) {
  print_line(fmt::format("{}: {} files, {} bytes", single_line(path), preview.files.size(),
                         grouped(preview.disk_bytes)));
  print_line(fmt::format("{}{} documents, {} bytes of text", preview.complete ? "" : "At least ",
                         grouped(preview.documents), grouped(preview.text_bytes)));
  if (!preview.text.empty()) print_line("Text: " + single_line(preview.text));
  for (const FieldSummary& field : preview.fields) {
    print_line(fmt::format("  {:<20} {:<8} in {:>9}  {}", single_line(field.name), field.type,
                           grouped(field.records), shown(field.example)));
  }
  for (const PreviewedRecord& record : preview.first) {
    print_line(fmt::format("{}, line {}", single_line(record.file), record.line));
    print_line("  " + shown(record.text.empty() ? record.content : record.text));
  }
  if (preview.bad_records > 0) {
    print_line(fmt::format("{} bad records:", grouped(preview.bad_records)));
    for (const BadRecord& bad : preview.bad)
      print_line(fmt::format("  {}, line {}: {}", single_line(bad.file), bad.line,
                             single_line(bad.cause)));
    if (preview.bad_records > std::ssize(preview.bad)) print_line("  …");
  }
  if (preview.invalid_bytes > 0) {
    print_line(fmt::format("{} bytes are not UTF-8, the first in {}",
                           grouped(preview.invalid_bytes), single_line(preview.first_invalid)));
  }
}

int inspect(const InspectOptions& options, const GlobalOptions& global) {
  std::vector<CorpusSource> sources;
  options.sources.apply(sources);
  const CorpusOptions read = options.settings.applied(CorpusOptions{}, "data");
  const PreviewOptions preview_options{
      .records = whole_number("--records", options.records, Bounds{0, 1000}),
      .read_documents = whole_number("--read", options.read, Bounds{0, 1e15})};
  int code = kSuccess;
  for (const CorpusSource& source : sources) {
    const SourcePreview preview = preview_source(source, read.read, preview_options, CancelToken());
    if (global.json) {
      print_json(as_json(preview));
    } else {
      show(source.path, preview);
      if (!preview.problem.empty()) print_problem(single_line(preview.problem));
    }
    if (!preview.problem.empty()) code = kDataProblem;
  }
  return code;
}

}  // namespace

void add_data_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand("data", "Look into texts and records to learn from");
  command->require_subcommand(1);
  CLI::App* each = command->add_subcommand(
      "inspect", "Show what is in them: fields, first records, counts and bad records");
  each->fallthrough();
  const auto options = std::make_shared<InspectOptions>();
  options->sources.add_to(*each, "PATH", "Files, folders or patterns");
  each->get_option("PATH")->required();
  options->settings.add_to(*each);
  each->add_option("--records", options->records, "Records to show")->type_name("N");
  each->add_option("--read", options->read, "Documents to read at most; 0: all")->type_name("N");
  each->callback([options, &global, &action] {
    action = [options, &global] { return inspect(*options, global); };
  });
}

}  // namespace athanor
