// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/source_preview.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"
#include "engine/data/document_reader.h"
#include "engine/data/progress_meter.h"

namespace athanor {

namespace {

constexpr std::size_t kLongestExample_bytes = 200;
constexpr std::size_t kMostFields = 200;

/// The beginning of a text, ended between characters.
std::string beginning(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return std::string(text);
  std::size_t end = most_bytes;
  while (end > 0 && next_character_start(text, end) != end)
    --end;
  return std::string(text.substr(0, end)) + "\xE2\x80\xA6";
}

std::string on_one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* type_of(const Json& value) {
  if (value.is_string()) return "text";
  if (value.is_number()) return "number";
  if (value.is_boolean()) return "truth";
  if (value.is_array()) return "list";
  return value.is_object() ? "record" : "nothing";
}

void add_fields(const Json& fields, std::vector<FieldSummary>& summaries) {
  for (const auto& [name, value] : fields.items()) {
    auto found = std::ranges::find(summaries, name, &FieldSummary::name);
    if (found == summaries.end()) {
      if (summaries.size() == kMostFields) continue;
      const std::string example = value.is_string() ? value.get<std::string>() : on_one_line(value);
      found = summaries.insert(
          summaries.end(), {name, type_of(value), 0, beginning(example, kLongestExample_bytes)});
    }
    ++found->records;
    const std::string type = type_of(value);
    if (found->type == "nothing") found->type = type;
    if (type != "nothing" && type != found->type) found->type = "mixed";
  }
}

class Preview {
 public:
  Preview(const CorpusSource& source, const ReadOptions& read, const PreviewOptions& options,
          const CancelToken& cancel)
      : source_(source), options_(options), log_(read, &cancel) {
    result_.files = find_source_files(source.path);
    for (const SourceFile& file : result_.files)
      result_.disk_bytes += file.disk_bytes;
  }

  SourcePreview run(const CancelToken& cancel, const ProgressCallback& progress) {
    ProgressMeter meter("Looking into the data", result_.disk_bytes, cancel, progress);
    try {
      read_documents(meter);
    } catch (const Error& error) {
      result_.problem = error.message();
      if (result_.first.empty()) show_raw_records();
    }
    if (result_.complete && result_.documents == 0 && result_.problem.empty()) {
      result_.problem = source_.path + " holds no text. Choose a file that holds text.";
    }
    result_.bad_records = log_.bad_records();
    result_.bad = log_.kept();
    result_.invalid_bytes = log_.invalid_bytes();
    result_.first_invalid = log_.first_invalid();
    return std::move(result_);
  }

 private:
  bool wants_more() const {
    return options_.read_documents == 0 || result_.documents < options_.read_documents;
  }

  void read_documents(ProgressMeter& meter) {
    DocumentReader reader(source_, result_.files, log_);
    DocumentPart part;
    while (wants_more()) {
      if (!reader.next(part)) {
        result_.complete = true;
        break;
      }
      result_.documents += part.ends ? 1 : 0;
      result_.text_bytes += static_cast<std::int64_t>(part.text.size());
      if (reader.record() != nullptr) add_fields(reader.record()->fields, result_.fields);
      result_.text = reader.mapping();
      if (part.begins && std::ssize(result_.first) < options_.records) {
        const std::string text = beginning(part.text, kLongestPreview_bytes);
        result_.first.push_back(
            {part.file,
             part.line,
             reader.record() == nullptr
                 ? text
                 : beginning(on_one_line(reader.record()->fields), kLongestPreview_bytes),
             text,
             {}});
      }
      meter.update(reader.disk_bytes());
    }
  }

  /// Where no field is known to be the text the records are shown as they are.
  void show_raw_records() {
    ReadingLog log(log_.options());
    for (const SourceFile& file : result_.files) {
      if (!has_records(file.kind)) continue;
      try {
        const std::unique_ptr<RecordReader> reader = open_records(file, log);
        for (Record record; std::ssize(result_.first) < options_.records && reader->next(record);) {
          add_fields(record.fields, result_.fields);
          result_.first.push_back({record.file,
                                   record.line,
                                   beginning(on_one_line(record.fields), kLongestPreview_bytes),
                                   {},
                                   result_.problem});
        }
      } catch (const Error&) {
        return;  // said already
      }
    }
  }

  const CorpusSource& source_;
  PreviewOptions options_;
  ReadingLog log_;
  SourcePreview result_;
};

}  // namespace

SourcePreview preview_source(const CorpusSource& source, const ReadOptions& read,
                             const PreviewOptions& options, const CancelToken& cancel,
                             const ProgressCallback& progress) {
  return Preview(source, read, options, cancel).run(cancel, progress);
}

}  // namespace athanor
