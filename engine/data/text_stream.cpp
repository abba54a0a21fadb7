// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_stream.h"

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "engine/base/utf8.h"

namespace athanor {

namespace {

constexpr std::size_t kBlock_bytes = 128 << 10;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kHead_bytes = 256;

void append_character(std::uint32_t character, std::string& text) {
  const auto low = [&](int shift) { return static_cast<char>(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0 | character >> 6);
    text += low(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0 | character >> 12);
    text += low(6);
    text += low(0);
  } else {
    text += static_cast<char>(0xF0 | character >> 18);
    text += low(12);
    text += low(6);
    text += low(0);
  }
}

/// Whether what is left of a block may be the beginning of a character whose end is in the next.
bool may_continue(std::string_view rest) {
  return rest.size() < 4 && static_cast<unsigned char>(rest.front()) >= 0xC2;
}

}  // namespace

bool looks_like_unmarked_utf16(std::string_view head) {
  head = head.substr(0, kHead_bytes);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t index = 0; index < head.size(); ++index) {
    if (head[index] == '\0') ++zeros[index % 2];
  }
  const std::size_t half = head.size() / 2;
  return half > 0 && std::min(zeros[0], zeros[1]) == 0 && std::max(zeros[0], zeros[1]) >= half;
}

TextStream::TextStream(const std::filesystem::path& path, ReadingLog& log)
    : file_(path.string()), log_(log), bytes_(ByteSource::open(path)) {}

void TextStream::detect() {
  at_start_ = false;
  const std::string_view head = block_;
  if (head.starts_with("\xEF\xBB\xBF")) {
    block_.erase(0, 3);
  } else if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    encoding_ = head.front() == '\xFF' ? Encoding::utf16_little : Encoding::utf16_big;
    block_.erase(0, 2);
  } else if (looks_like_unmarked_utf16(head)) {
    throw Error(ErrorKind::invalid_argument,
                file_ +
                    " is UTF-16 text without a byte-order mark. Open the file in a text editor, "
                    "save it as UTF-8 and choose it again.");
  }
}

bool TextStream::read(std::string& text) {
  const std::size_t before = text.size();
  // A block can be too short for one whole character.
  while (!at_end_ && text.size() == before) {
    log_.throw_if_cancelled();
    const std::size_t kept = block_.size();
    block_.resize(kept + kBlock_bytes);
    std::size_t filled = kept;
    while (filled < block_.size()) {
      const std::size_t got = bytes_->read(std::span(block_).subspan(filled));
      at_end_ = got == 0;
      if (at_end_) break;
      filled += got;
    }
    block_.resize(filled);
    if (at_start_) detect();
    start_ = text.size();
    invalid_ = 0;
    if (encoding_ == Encoding::utf8) {
      append_utf8(block_, at_end_, text);
    } else {
      append_utf16(block_, at_end_, text);
    }
    log_.add_invalid_bytes(file_, first_invalid_line_, invalid_);
    line_ += std::count(text.begin() + static_cast<std::ptrdiff_t>(start_), text.end(), '\n');
  }
  return text.size() > before;
}

void TextStream::append_invalid(std::string_view bytes, std::string& text) {
  if (invalid_ == 0) {
    first_invalid_line_ =
        line_ + std::count(text.begin() + static_cast<std::ptrdiff_t>(start_), text.end(), '\n');
  }
  invalid_ += static_cast<std::int64_t>(bytes.size());
  if (log_.options().invalid_utf8 == InvalidUtf8::keep && encoding_ == Encoding::utf8) {
    text += bytes;
  } else {
    text += kReplacement;
  }
}

void TextStream::append_utf8(std::string_view block, bool last, std::string& text) {
  std::size_t at = 0;
  while (at < block.size()) {
    const std::size_t valid = utf8_prefix_bytes(block.substr(at));
    text += block.substr(at, valid);
    at += valid;
    if (at == block.size() || (!last && may_continue(block.substr(at)))) break;
    append_invalid(block.substr(at, 1), text);
    ++at;
  }
  block_.erase(0, at);
}

void TextStream::append_utf16(std::string_view block, bool last, std::string& text) {
  const std::size_t high = encoding_ == Encoding::utf16_big ? 0 : 1;
  const auto unit = [&](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(block[at + high]) << 8 |
                                      static_cast<unsigned char>(block[at + 1 - high]));
  };
  const auto in_range = [](std::uint32_t value, std::uint32_t least) {
    return value >= least && value < least + 0x400;
  };
  std::size_t at = 0;
  while (block.size() - at >= 2) {
    const std::uint32_t first = unit(at);
    if (!in_range(first, 0xD800) && !in_range(first, 0xDC00)) {
      append_character(first, text);
      at += 2;
      continue;
    }
    const bool has_second = block.size() - at >= 4;
    if (!has_second && !last) break;
    if (has_second && in_range(first, 0xD800) && in_range(unit(at + 2), 0xDC00)) {
      append_character(0x10000 + ((first & 0x3FF) << 10 | (unit(at + 2) & 0x3FF)), text);
      at += 4;
    } else {
      append_invalid(block.substr(at, 2), text);
      at += 2;
    }
  }
  if (last && at < block.size()) {
    append_invalid(block.substr(at), text);
    at = block.size();
  }
  block_.erase(0, at);
}

}  // namespace athanor
