// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/document_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/utf8.h"

namespace athanor {

namespace {

bool is_control(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return (code < 0x20 && (code < '\t' || code > '\r')) || code == 0x7F;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos;
}

/// Control characters are a sure sign of programs, pictures and office documents.
void check_is_text(std::string_view text, const TextWindow& window) {
  const auto found = std::ranges::find_if(text, is_control);
  if (found == text.end()) return;
  const std::string_view before =
      window.view().substr(0, static_cast<std::size_t>(&*found - window.view().data()));
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("{}, line {}: this is not a text, it holds a control character (0x{:02x}), "
                  "as programs, pictures and office documents do. Choose a plain text file, "
                  "or take this one out of the folder.",
                  window.file(), window.line() + std::ranges::count(before, '\n'),
                  static_cast<unsigned char>(*found)));
}

}  // namespace

DocumentReader::DocumentReader(const CorpusSource& source, std::vector<SourceFile> files,
                               ReadingLog& log)
    : source_(source),
      files_(std::move(files)),
      log_(log),
      ends_(source.boundary, source.separator) {
  if (!source_.text.empty()) mapping_.emplace(source_.text);
}

DocumentReader::~DocumentReader() = default;

std::int64_t DocumentReader::disk_bytes() const {
  if (records_) return done_bytes_ + records_->disk_bytes();
  if (window_) return done_bytes_ + window_->disk_bytes();
  return done_bytes_;
}

bool DocumentReader::open_next_file() {
  if (next_file_ > 0 && next_file_ <= files_.size())
    done_bytes_ += files_[next_file_ - 1].disk_bytes;
  records_.reset();
  window_.reset();
  if (next_file_ >= files_.size()) {
    next_file_ = files_.size() + 1;
    return false;
  }
  const SourceFile& file = files_[next_file_++];
  if (has_records(file.kind)) {
    records_ = open_records(file, log_);
  } else {
    window_ = std::make_unique<TextWindow>(file.path, log_);
    looked_at_ = 0;
    within_ = at_end_ = false;
  }
  return true;
}

bool DocumentReader::next(DocumentPart& part) {
  while (true) {
    if (records_ && next_of_records(part)) return true;
    if (window_ && next_of_text(part)) return true;
    if (!open_next_file()) return false;
  }
}

bool DocumentReader::next_of_records(DocumentPart& part) {
  while (records_->next(record_)) {
    const std::string place = fmt::format("{}, line {}", record_.file, record_.line);
    if (!mapping_) mapping_ = TextMapping::detect(record_.fields, place);
    std::string cause;
    if (!mapping_->apply(record_.fields, part.text, cause)) {
      if (!mapping_fits_) {
        throw Error(ErrorKind::invalid_argument,
                    place + ": " + cause + ". Say which field is the text.");
      }
      log_.add({record_.file, record_.line, std::move(cause)});
      continue;
    }
    mapping_fits_ = true;
    if (is_blank(part.text)) continue;
    part.begins = part.ends = true;
    part.file = record_.file;
    part.line = record_.line;
    return true;
  }
  return false;
}

void DocumentReader::take(std::size_t bytes, std::size_t next, bool ends, DocumentPart& part) {
  part.text = window_->view().substr(0, bytes);
  part.begins = !within_;
  part.ends = ends;
  part.file = window_->file();
  part.line = window_->line();
  window_->skip(next);
  within_ = !ends;
  looked_at_ = 0;
}

bool DocumentReader::next_of_text(DocumentPart& part) {
  while (true) {
    const std::string_view view = window_->view();
    std::optional<DocumentEnds::End> end = ends_.find(view, looked_at_, at_end_);
    if (!end && at_end_) {
      if (view.empty()) return false;
      end = {view.size(), view.size()};
    }
    if (end) {
      take(end->document, end->next, true, part);
      if (!part.begins || !is_blank(part.text)) return true;
      continue;
    }
    looked_at_ = view.size();
    // What is kept back may belong to an end.
    if (view.size() > kWhole_bytes + ends_.kept_bytes() + 4) {
      std::size_t bytes = view.size() - ends_.kept_bytes();
      while (next_character_start(view, bytes) != bytes)
        --bytes;
      take(bytes, bytes, false, part);
      return true;
    }
    const std::size_t before = view.size();
    at_end_ = !window_->more();
    check_is_text(window_->view().substr(before), *window_);
  }
}

}  // namespace athanor
