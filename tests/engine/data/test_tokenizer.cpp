// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/philox.h"
#include "engine/data/text_splitter.h"
#include "engine/data/tokenizer.h"
#include "engine/data/tokenizer_description.h"
#include "tests/support/expect_error.h"

using namespace athanor;

namespace {

std::string random_bytes(std::size_t size) {
  const Philox random(3, 0);
  std::string bytes;
  for (std::size_t at = 0; at < size; ++at)
    bytes.push_back(static_cast<char>(random.word(at) >> 24));
  return bytes;
}

std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  make_scanner(KnownPattern::gpt2)->split(text, pieces);
  return {pieces.begin(), pieces.end()};
}

const std::string kSample =
    "the cat sat on the mat. the cat ate the rat; the rat had sat on the cat's hat.\n"
    "Où est l'âne? Der Bär läßt grüßen. 猫が座った。\n";

}  // namespace

class TestTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void pieces_follow_gpt2_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArrayList>("pieces");
    QTest::newRow("words") << QByteArray("Hello world") << QByteArrayList{"Hello", " world"};
    QTest::newRow("contraction") << QByteArray("it's we'll")
                                 << QByteArrayList{"it", "'s", " we", "'ll"};
    QTest::newRow("numbers") << QByteArray("a1 22,3") << QByteArrayList{"a", "1", " 22", ",", "3"};
    QTest::newRow("spaces") << QByteArray("a   b  ") << QByteArrayList{"a", "  ", " b", "  "};
    QTest::newRow("umlauts") << QByteArray("B\xC3\xA4r \xC3\xA9t\xC3\xA9")
                             << QByteArrayList{"B\xC3\xA4r", " \xC3\xA9t\xC3\xA9"};
  }
  void pieces_follow_gpt2() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArrayList, pieces);
    QByteArrayList found;
    for (const std::string& piece : pieces_of(text.toStdString())) {
      found.push_back(QByteArray::fromStdString(piece));
    }
    QCOMPARE(found, pieces);
  }

  void bytes_that_are_no_text_stand_alone() {
    const Tokenizer tokenizer = train_tokenizer("ab ab ab", 260, CancelToken());
    const std::int32_t ab = tokenizer.encode("ab").front();
    QCOMPARE(tokenizer.encode("ab\xFF\xFE\xC3 ab").size(), 5U);
    QCOMPARE(tokenizer.encode("\xFF"
                              "ab"),
             (std::vector<std::int32_t>{0xFF, ab}));
  }

  void learns_the_most_frequent_pairs_first() {
    // "ab" occurs four times, "bc" and "abc" three: then no pair is left that occurs twice.
    const Tokenizer tokenizer = train_tokenizer("abc abc abc ab", 1000, CancelToken());
    QCOMPARE(tokenizer.token_bytes(256), std::string_view("ab"));
    QCOMPARE(tokenizer.token_bytes(257), std::string_view(" ab"));
    QCOMPARE(tokenizer.token_bytes(258), std::string_view(" abc"));
    QCOMPARE(tokenizer.vocabulary_size(), 260);
    QCOMPARE(tokenizer.end_of_text(), 259);
  }

  void ties_go_to_smaller_ids() {
    const Tokenizer tokenizer = train_tokenizer("zy\nzy\nba\nba\n", 258, CancelToken());
    QCOMPARE(tokenizer.token_bytes(256), std::string_view("ba"));
  }

  void learning_in_place_equals_counting_anew() {
    // The learner keeps counts up to date; encoding the text with the first merges and counting its
    // pairs must name the next merge.
    const Tokenizer tokenizer = train_tokenizer(kSample, 290, CancelToken());
    const std::vector<BpeModel::Merge>& merges = tokenizer.description().merges;
    for (std::size_t known = 0; known < merges.size(); ++known) {
      std::vector<Tokenizer::Merge> first;
      for (std::size_t at = 0; at < known; ++at)
        first.push_back({merges[at].left, merges[at].right});
      const Tokenizer partial{std::move(first)};
      std::map<std::pair<int, int>, int> counts;
      for (const std::string& piece : pieces_of(kSample)) {
        const std::vector<std::int32_t> ids = partial.encode(piece);
        for (std::size_t at = 0; at + 1 < ids.size(); ++at)
          ++counts[{ids[at], ids[at + 1]}];
      }
      const auto best = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
        return a.second != b.second ? a.second < b.second : a.first > b.first;
      });
      QCOMPARE(best->first, (std::pair<int, int>(merges[known].left, merges[known].right)));
    }
  }

  void round_trips_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("sample") << QByteArray::fromStdString(kSample);
    QTest::newRow("random bytes") << QByteArray::fromStdString(random_bytes(20000));
    QTest::newRow("one long word") << QByteArray(100000, 'a');
    QTest::newRow("end of text in the text") << QByteArray("a <|endoftext|> b");
  }
  void round_trips() {
    QFETCH(QByteArray, text);
    const Tokenizer tokenizer = train_tokenizer(kSample, 300, CancelToken());
    const std::vector<std::int32_t> ids = tokenizer.encode(text.toStdString());
    QCOMPARE(QByteArray::fromStdString(tokenizer.decode(ids)), text);
    QCOMPARE(std::count(ids.begin(), ids.end(), tokenizer.end_of_text()), 0);
  }

  void end_of_text_has_no_bytes() {
    const Tokenizer tokenizer{{}};
    const std::vector<std::int32_t> ids{'a', tokenizer.end_of_text(), 'b'};
    QCOMPARE(tokenizer.decode(ids), std::string("ab"));
    ATHANOR_EXPECT_ERROR(tokenizer.token_bytes(257), ErrorKind::invalid_argument, "257");
    ATHANOR_EXPECT_ERROR(tokenizer.token_bytes(-1), ErrorKind::invalid_argument, "-1");
  }

  void marks_are_not_learned() {
    std::string text;
    for (int document = 0; document < 50; ++document)
      text += "x\n<|endoftext|>\n";
    QCOMPARE(train_tokenizer(text, 300, CancelToken()).vocabulary_size(), 257);
  }

  void samples_long_texts_evenly() {
    std::string text(1 << 20, '.');
    for (std::size_t at = 0; at < text.size(); at += 2)
      text[at] = at < text.size() / 2 ? 'a' : 'b';
    const Tokenizer tokenizer = train_tokenizer(text, 260, CancelToken(), {}, 256 << 10);
    QVERIFY(tokenizer.vocabulary_size() >= 257);
  }

  void save_and_load() {
    const QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("tokenizer.json").toStdString();
    const Tokenizer tokenizer = train_tokenizer(kSample, 300, CancelToken());
    tokenizer.save(path);
    const Tokenizer loaded = Tokenizer::load(path);
    QCOMPARE(loaded.fingerprint(), tokenizer.fingerprint());
    QVERIFY(loaded.fingerprint() != Tokenizer({}).fingerprint());
    QCOMPARE(loaded.encode(kSample), tokenizer.encode(kSample));
  }

  void damaged_files_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const char* merges, const char* part) {
      QTest::newRow(name) << QByteArray(R"({"format":1,"kind":"byte-bpe","merges":)") + merges + "}"
                          << QByteArray(part);
    };
    QTest::newRow("cut") << QByteArray(R"({"format":1,"kind")") << QByteArray("line 1");
    QTest::newRow("empty") << QByteArray() << QByteArray("JSON");
    QTest::newRow("list") << QByteArray("[]") << QByteArray("object");
    QTest::newRow("format") << QByteArray(R"({"format":2})") << QByteArray("format");
    QTest::newRow("kind") << QByteArray(R"({"format":1,"kind":"x"})") << QByteArray("kind");
    row("merges", "3", "merges");
    row("one id", "[[97]]", "merges[0]");
    row("text", R"([[97,98],["a","b"]])", "merges[1]");
    row("negative", "[[-1,98]]", "merges[0]");
    row("huge", "[[18446744073709551615,98]]", "merges[0]");
    row("later token", "[[97,98],[97,257]]", "merges[1]");
    row("repeated", "[[97,98],[97,98]]", "merges[1]");
    std::string doubling = "[[97,97]";
    for (int id = 256; id < 300; ++id)
      doubling += fmt(id);
    row("exploding", (doubling + "]").c_str(), "merges[9]");
  }
  void damaged_files() {
    QFETCH(QByteArray, json);
    QFETCH(QByteArray, part);
    const QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath("tokenizer.json").toStdString();
    write_file_atomically(path, json.toStdString());
    ATHANOR_EXPECT_ERROR(Tokenizer::load(path), ErrorKind::damaged, part.toStdString());
    ATHANOR_EXPECT_ERROR(Tokenizer::load(path), ErrorKind::damaged, "tokenizer.json");
  }

  void refuses_small_vocabularies_and_cancels() {
    ATHANOR_EXPECT_ERROR(train_tokenizer("a", 256, CancelToken()), ErrorKind::invalid_argument,
                         "257");
    CancelToken cancel;
    cancel.request();
    QVERIFY_EXCEPTION_THROWN(train_tokenizer(kSample, 300, cancel), Cancelled);
  }

  void long_words_do_not_take_quadratic_time() {
    const Tokenizer tokenizer = train_tokenizer("aaaaaaaaaaaaaaaa ab", 262, CancelToken());
    const Stopwatch watch;
    // In quadratic time so many letters would take minutes on any machine.
    tokenizer.encode(std::string(400'000, 'a'));
    QVERIFY2(watch.seconds() < 30.0, "400 kB of one letter took over 30 s");
  }

 private:
  static std::string fmt(int id) {
    return ",[" + std::to_string(id) + "," + std::to_string(id) + "]";
  }
};

QTEST_APPLESS_MAIN(TestTokenizer)
#include "test_tokenizer.moc"
