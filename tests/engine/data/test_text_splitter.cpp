// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/base/philox.h"
#include "engine/data/expression_check.h"
#include "engine/data/text_splitter.h"
#include "engine/data/unicode_classes.h"
#include "tests/support/expect_error.h"

using namespace athanor;

namespace {

#if defined(ATHANOR_SANITIZED)
constexpr std::uint64_t kTexts = 300;
#else
constexpr std::uint64_t kTexts = 4000;
#endif

/// Characters that the patterns tell apart, often, and any others, seldom.
std::string random_text(const Philox& random, std::uint64_t number) {
  static const std::vector<std::string> parts = {
      "a",  "b",      "Z",      "s",      "t",      "ll",     "ve",   "re",        "d",
      "'",  "'s",     " ",      " ",      "  ",     "\n",     "\r\n", "\t",        "1",
      "23", "9",      ".",      "-",      "/",      "_",      "{",    "é",         "ß",
      "Ω",  "я",      "ſ",      "'ſ",     "\u0301", "\u0902", "猫",   "ಕ",         "が",
      "한", "\u3000", "\u00A0", "\u0085", "\u180E", "²",      "Ⅷ",    "👍🏽",  "\u200D",
      "ǅ",  "ʰ",      "'LL",    "'Re",    "İ",      "K",      "𝒜",    "\U0001F1E9"};
  std::string text;
  const std::uint64_t length = 1 + random.word(number * 100) % 40;
  for (std::uint64_t at = 0; at < length; ++at) {
    const std::uint32_t word = random.word(number * 100 + 1 + at);
    if (word % 16 > 0) {
      text += parts[(word >> 4) % parts.size()];
    } else {
      char32_t code = (word >> 4) % 0x110000;
      if (code >= 0xD800 && code < 0xE000) code -= 0x800;
      append_character(text, code);
    }
  }
  return text;
}

std::vector<std::string_view> pieces_of(const TextSplitter& splitter, std::string_view text) {
  std::vector<std::string_view> pieces;
  splitter.split(text, pieces);
  return pieces;
}

}  // namespace

class TestTextSplitter : public QObject {
  Q_OBJECT

 private slots:
  void scanners_cut_as_their_expressions_data() {
    QTest::addColumn<int>("pattern");
    QTest::newRow("gpt2") << static_cast<int>(KnownPattern::gpt2);
    QTest::newRow("cl100k") << static_cast<int>(KnownPattern::cl100k);
    QTest::newRow("llama3") << static_cast<int>(KnownPattern::llama3);
    QTest::newRow("qwen2") << static_cast<int>(KnownPattern::qwen2);
    QTest::newRow("qwen35") << static_cast<int>(KnownPattern::qwen35);
    QTest::newRow("o200k") << static_cast<int>(KnownPattern::o200k);
  }
  void scanners_cut_as_their_expressions() {
    QFETCH(int, pattern);
    const auto known = static_cast<KnownPattern>(pattern);
    const auto scanner = make_scanner(known);
    const auto expression =
        make_pattern_splitter(std::string(expression_of(known)), SplitBehavior::isolated, false);
    const Philox random(11, 0);
    for (std::uint64_t number = 0; number < kTexts; ++number) {
      const std::string text = random_text(random, number);
      const std::vector<std::string_view> found = pieces_of(*scanner, text);
      QVERIFY2(found == pieces_of(*expression, text), text.c_str());
      std::string joined;
      for (const std::string_view piece : found)
        joined += piece;
      QCOMPARE(joined, text);
    }
  }

  void every_spelling_is_known() {
    QCOMPARE(*known_pattern(expression_of(KnownPattern::o200k)), KnownPattern::o200k);
    QCOMPARE(
        *known_pattern(
            R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)"),
        KnownPattern::gpt2);
    QVERIFY(known_pattern(R"(\p{L}+)") == nullptr);
  }

  void digits_are_cut() {
    using Pieces = std::vector<std::string_view>;
    QCOMPARE(pieces_of(*make_digit_splitter(true), "a12²b"), (Pieces{"a", "1", "2", "²", "b"}));
    QCOMPARE(pieces_of(*make_digit_splitter(false), "a12²b"), (Pieces{"a", "12²", "b"}));
  }

  void marks_begin_words() {
    using Pieces = std::vector<std::string_view>;
    QCOMPARE(pieces_of(*make_mark_splitter(), "▁a b▁▁c▁"), (Pieces{"▁a b", "▁▁c", "▁"}));
  }

  void categories_are_counted() {
    const auto count = [](std::string_view category) {
      std::uint32_t characters = 0;
      for (const CharacterRun& run : characters_of(category))
        characters += run.last - run.first + 1;
      return characters;
    };
    // Unicode 16.0's own counts (DerivedGeneralCategory.txt).
    QCOMPARE(count("Nd"), 760U);
    QCOMPARE(count("Lu"), 1858U);
    QCOMPARE(count("L"), 141028U);
    QCOMPARE(count("Xx"), 0U);
  }

  void doubtful_expressions_are_refused_data() {
    QTest::addColumn<QByteArray>("expression");
    QTest::addColumn<QByteArray>("part");
    for (const char* const part : {"\\w", "\\b", "\\h", "^", "$", "(?m:", "(?P<", "{1,3}+", "{,3}",
                                   "\\p{Han}", "\\1", "#"}) {
      QTest::newRow(part) << QByteArray("a|") + part + "b" << QByteArray(part);
    }
    for (const char* const part : {"[", "&&", "\\S", "\\P{L}"})
      QTest::newRow(part) << QByteArray("[a") + part + "b]" << QByteArray(part);
    QTest::newRow("open class") << QByteArray("[ab") << QByteArray("[");
    QTest::newRow("open group") << QByteArray("(ab") << QByteArray("PCRE2");
    QTest::newRow("end") << QByteArray("a\\") << QByteArray("\\");
    QTest::newRow("nothing") << QByteArray("a*") << QByteArray("nothing");
    QTest::newRow("empty") << QByteArray() << QByteArray("nothing");
  }
  void doubtful_expressions_are_refused() {
    QFETCH(QByteArray, expression);
    QFETCH(QByteArray, part);
    ATHANOR_EXPECT_ERROR(
        make_pattern_splitter(expression.toStdString(), SplitBehavior::isolated, false),
        ErrorKind::unsupported, part.toStdString());
  }

  void endless_backtracking_is_refused() {
    const auto splitter = make_pattern_splitter("(?:a+)+[bc]", SplitBehavior::isolated, false);
    ATHANOR_EXPECT_ERROR(pieces_of(*splitter, std::string(5000, 'a')), ErrorKind::unsupported,
                         "too long");
  }
};

QTEST_APPLESS_MAIN(TestTextSplitter)
#include "test_text_splitter.moc"
