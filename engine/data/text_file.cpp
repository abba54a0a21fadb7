// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/data/progress_meter.h"

namespace athanor {

namespace {

constexpr std::size_t kStride_bytes = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

enum class ByteClass : std::uint8_t { text, space, control, multibyte };

constexpr std::array<ByteClass, 256> kClasses = [] {
  std::array<ByteClass, 256> classes{};
  for (std::size_t byte = 0; byte < classes.size(); ++byte) {
    if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
      classes[byte] = ByteClass::space;
    } else if (byte < ' ' || byte == 0x7F) {
      classes[byte] = ByteClass::control;
    } else {
      classes[byte] = byte < 0x80 ? ByteClass::text : ByteClass::multibyte;
    }
  }
  return classes;
}();

ByteClass class_of(char byte) {
  return kClasses[static_cast<unsigned char>(byte)];
}

/// Whether all eight bytes are printable ASCII: none has the high bit, none is below the space,
/// none is DEL. May say no for some that are (then they are looked at one by one), never yes
/// wrongly.
bool eight_printable(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = kOnes * 0x80;
  const std::uint64_t below_space = word - kOnes * ' ';
  const std::uint64_t above_tilde = word + kOnes;
  return ((word | below_space | above_tilde) & kHighs) == 0;
}

class Checker {
 public:
  Checker(const std::filesystem::path& path, std::string_view whole, std::size_t start)
      : path_(path), whole_(whole), position_(start) {}

  std::size_t position() const { return position_; }
  bool only_space() const { return only_space_; }

  /// Checks characters until one ends at or after `end`.
  void advance(std::size_t end) {
    while (position_ < end) {
      if (position_ + 8 <= whole_.size() && eight_printable(whole_.data() + position_)) {
        only_space_ = only_space_ && whole_.substr(position_, 8) == "        ";
        position_ += 8;
      } else {
        check_character();
      }
    }
  }

 private:
  void check_character() {
    std::size_t length = 1;
    switch (class_of(whole_[position_])) {
      case ByteClass::space:
        break;
      case ByteClass::text:
        only_space_ = false;
        break;
      case ByteClass::control:
        refuse_binary();
      case ByteClass::multibyte:
        length = utf8_character_bytes(whole_, position_);
        if (length == 0) refuse_encoding();
        only_space_ = false;
        break;
    }
    position_ += length;
  }

  std::string place() const {
    const auto line = std::count(whole_.begin(), whole_.begin() + position_, '\n') + 1;
    return fmt::format("line {} (byte {} of the file)", line, position_ + 1);
  }

  [[noreturn]] void refuse_binary() const {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{} is not a text: {} holds a control character (0x{:02x}), as programs, "
                    "pictures and office documents do. Choose a plain text file.",
                    path_.string(), place(), static_cast<unsigned char>(whole_[position_])));
  }

  [[noreturn]] void refuse_encoding() const {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{}: {} is not UTF-8. Open the file in a text editor, save it as UTF-8 and "
                    "choose it again.",
                    path_.string(), place()));
  }

  const std::filesystem::path& path_;
  std::string_view whole_;
  std::size_t position_;
  bool only_space_ = true;
};

/// UTF-16 text has a byte-order mark, or every second byte of its beginning is zero.
bool looks_like_utf16(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return true;
  const std::string_view head = text.substr(0, 256);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t index = 0; index < head.size(); ++index) {
    if (head[index] == '\0') ++zeros[index % 2];
  }
  const std::size_t half = head.size() / 2;
  return half > 0 && std::min(zeros[0], zeros[1]) == 0 && std::max(zeros[0], zeros[1]) >= half;
}

[[noreturn]] void refuse_empty(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::invalid_argument,
              path.string() + " " + what + ". Choose a file that holds text.");
}

}  // namespace

TextFile::TextFile(std::filesystem::path path, MappedFile file)
    : path_(std::move(path)), file_(std::move(file)), text_(file_.text()) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

TextFile TextFile::open(const std::filesystem::path& path, const CancelToken& cancel,
                        const ProgressCallback& progress) {
  TextFile file(path, MappedFile(path));
  const std::string_view whole = file.file_.text();
  if (file.text_.empty()) refuse_empty(path, "is empty");
  if (looks_like_utf16(whole)) {
    throw Error(ErrorKind::invalid_argument,
                path.string() +
                    " is UTF-16 text. Open the file in a text editor, save it as UTF-8 and "
                    "choose it again.");
  }
  ProgressMeter meter("Reading the text", static_cast<std::int64_t>(whole.size()), cancel,
                      progress);
  Checker checker(path, whole, whole.size() - file.text_.size());
  while (checker.position() < whole.size()) {
    checker.advance(std::min(whole.size(), checker.position() + kStride_bytes));
    meter.update(static_cast<std::int64_t>(checker.position()));
  }
  if (checker.only_space()) refuse_empty(path, "holds only white space");
  meter.finish();
  return file;
}

}  // namespace athanor
