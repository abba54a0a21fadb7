// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <algorithm>
#include <map>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"
#include "engine/data/duplicate_filter.h"
#include "engine/data/tokenize.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestTokenize : public QObject {
  Q_OBJECT

 private:
  static Corpus corpus_of(const std::filesystem::path& path, const CorpusOptions& options = {}) {
    return Corpus({{.path = path}}, options);
  }
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < text.size(); at = text.find('|', at) + 1)
      parts.push_back(text.substr(at, text.find('|', at) - at));
    return parts;
  }
  static std::vector<std::string> sorted(std::vector<std::string> texts) {
    std::ranges::sort(texts);
    return texts;
  }
  struct Parts {
    std::vector<std::string> train;
    std::vector<std::string> validation;
    CorpusCounts counts;
  };
  static Parts parts_of(const Corpus& corpus, double fraction) {
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    const Tokenizer tokenizer{{}};
    const CorpusCounts counts =
        tokenize_corpus(corpus, tokenizer, fraction, root, CancelToken()).counts;
    return {split(decoded(tokenizer, root / "train.tokens")),
            split(decoded(tokenizer, root / "validation.tokens")), counts};
  }
  static std::string decoded(const Tokenizer& tokenizer, const std::filesystem::path& path) {
    const TokenShard shard = TokenShard::open(path);
    std::string text;
    for (std::int64_t at = 0; at < shard.tokens(); ++at) {
      const std::int32_t id = shard.token(at);
      text += id == tokenizer.end_of_text() ? "|" : std::string(tokenizer.token_bytes(id));
    }
    return text;
  }

 private slots:
  void cuts_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<double>("fraction");
    QTest::addColumn<QByteArray>("train");
    QTest::addColumn<QByteArray>("validation");
    const QByteArray mark = "\n<|endoftext|>\n";
    QTest::newRow("small part still gets one")
        << "one" + mark + "two" + mark << 1e-9 << QByteArray("one|") << QByteArray("two|");
    QTest::newRow("large part leaves one")
        << "one" + mark + "two" + mark << 1 - 1e-9 << QByteArray("one|") << QByteArray("two|");
    QTest::newRow("lines") << QByteArray("aaaa\nbbbb\ncccc\ndddd\n") << 0.25
                           << QByteArray("aaaa\nbbbb\ncccc\n|") << QByteArray("dddd\n|");
    QTest::newRow("one line") << QByteArray("abcdefghij") << 0.2 << QByteArray("abcdefgh|")
                              << QByteArray("ij|");
    QTest::newRow("characters stay whole")
        << QByteArray("ab\xC3\xA4xy") << 0.5 << QByteArray("ab\xC3\xA4|") << QByteArray("xy|");
  }
  void cuts() {
    QFETCH(QByteArray, text);
    QFETCH(double, fraction);
    QFETCH(QByteArray, train);
    QFETCH(QByteArray, validation);
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    write_file_atomically(root / "text.txt", text.toStdString());
    const Tokenizer tokenizer{{}};
    const TokenizedCorpus corpus = tokenize_corpus(corpus_of(root / "text.txt"), tokenizer,
                                                   fraction, root / "shards", CancelToken());
    QCOMPARE(QByteArray::fromStdString(decoded(tokenizer, root / "shards/train.tokens")), train);
    QCOMPARE(QByteArray::fromStdString(decoded(tokenizer, root / "shards/validation.tokens")),
             validation);
    QCOMPARE(qsizetype(corpus.counts.text_bytes), train.size() + validation.size() - 2);
    QCOMPARE(qsizetype(corpus.validation_bytes), validation.size() - 1);
  }

  void long_documents_are_cut_without_a_trace() {
    std::string text;
    while (text.size() < (5 << 20))
      text += "The cat sat on the mat.\n\n  It slept.\n";
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    write_file_atomically(root / "text.txt", text);
    const Tokenizer tokenizer = train_tokenizer(text.substr(0, 1000), 280, CancelToken());
    const TokenizedCorpus corpus =
        tokenize_corpus(corpus_of(root / "text.txt"), tokenizer, 0.1, root, CancelToken());
    const TokenShard shard = TokenShard::open(root / "train.tokens");
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.tokens()));
    shard.read(0, ids);
    std::vector<std::int32_t> expected = tokenizer.encode(
        text.substr(0, text.size() - static_cast<std::size_t>(corpus.validation_bytes)));
    expected.push_back(tokenizer.end_of_text());
    QVERIFY(ids == expected);
    QCOMPARE(corpus.train.documents, 1);
  }

  void refuses_short_texts_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("sentence");
    const QByteArray mark = "\n<|endoftext|>\n";
    const QByteArray too_short = "too short";
    QTest::newRow("one character") << QByteArray("a") << too_short;
    QTest::newRow("one multibyte character") << QByteArray("\xC3\xA4") << too_short;
    QTest::newRow("one short document") << QByteArray("a\n<|endoftext|>\n") << too_short;
    QTest::newRow("the same twice") << "same" + mark + "same" + mark << too_short;
    QTest::newRow("only marks") << mark + mark << QByteArray("holds no text");
    QTest::newRow("only white space") << QByteArray(" \n\t \n") << QByteArray("holds no text");
  }
  void refuses_short_texts() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, sentence);
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    write_file_atomically(root / "text.txt", text.toStdString());
    const Corpus file = corpus_of(root / "text.txt");
    const Tokenizer tokenizer{{}};
    ATHANOR_EXPECT_ERROR(tokenize_corpus(file, tokenizer, 0.1, root, CancelToken()),
                         ErrorKind::invalid_argument, sentence.toStdString());
    ATHANOR_EXPECT_ERROR(tokenize_corpus(file, tokenizer, 0.0, root, CancelToken()),
                         ErrorKind::invalid_argument, "between 0 and 1");
    CancelToken cancel;
    cancel.request();
    QVERIFY_EXCEPTION_THROWN(tokenize_corpus(file, tokenizer, 0.1, root, cancel), Cancelled);
    QVERIFY(!std::filesystem::exists(root / "train.tokens"));
  }

  void adding_documents_moves_no_other() {
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    std::string lines;
    const auto add = [&](int from, int to) {
      for (int i = from; i < to; ++i)
        lines += "{\"text\":\"document " + std::to_string(i) + "\"}\n";
      write_file_atomically(root / "a.jsonl", lines);
    };
    add(0, 2000);
    const Parts before = parts_of(corpus_of(root / "a.jsonl"), 0.05);
    // 100 are expected; six standard deviations of a binomial count are 58.
    QVERIFY(before.validation.size() > 42 && before.validation.size() < 158);
    QCOMPARE(before.train.size() + before.validation.size(), 2000U);
    lines = "{\"text\":\"a new first one\"}\n" + lines;
    add(2000, 3000);
    const Parts after = parts_of(corpus_of(root / "a.jsonl"), 0.05);
    QVERIFY(std::ranges::includes(sorted(after.validation), sorted(before.validation)));
    QVERIFY(std::ranges::includes(sorted(after.train), sorted(before.train)));
  }

  void weights_repeat_and_leave_out() {
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    const auto write = [&](const char* name, const std::string& word) {
      std::string lines;
      for (int i = 0; i < 1000; ++i)
        lines += "{\"text\":\"" + word + std::to_string(i) + "\"}\n";
      write_file_atomically(root / name, lines);
    };
    write("a.jsonl", "often");
    write("b.jsonl", "seldom");
    const Corpus corpus(
        {{.path = root / "a.jsonl", .weight = 2.5}, {.path = root / "b.jsonl", .weight = 0.3}}, {});
    const Parts parts = parts_of(corpus, 0.1);
    std::map<std::string, int> times;
    for (const std::string& document : parts.train)
      ++times[document];
    const auto count = [&](const char* word, int wanted) {
      return std::ranges::count_if(times, [&](const auto& entry) {
        return entry.first.starts_with(word) && (wanted == 0 || entry.second == wanted);
      });
    };
    const auto often = count("often", 0);
    QCOMPARE(count("often", 2) + count("often", 3), often);
    // Half of about 900, and 0.3 × 900: six standard deviations are 90 and 83.
    QVERIFY(std::abs(count("often", 3) - often / 2) < 90);
    QCOMPARE(count("seldom", 1), count("seldom", 0));
    QVERIFY(std::abs(count("seldom", 0) - 270) < 83);
    // Copies come last, so that the same document is never beside itself.
    QVERIFY(std::ranges::adjacent_find(parts.train) == parts.train.end());
    QVERIFY(parts_of(corpus, 0.1).train == parts.train);
    for (const std::string& document : parts.validation)
      QVERIFY(!times.contains(document));
  }

  void duplicates_are_left_out() {
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    std::string story;
    for (int i = 0; i < 120; ++i)
      story += "word" + std::to_string(i * i % 97) + " and " + std::to_string(i) + " ";
    std::string nearly = story;
    nearly.replace(400, 3, "xyz");
    const std::string other = "Something else that has nothing in common with the story at all.";
    std::string lines;
    for (const std::string& text : {story, other, story, nearly, story + "!", other})
      lines += Json{{"text", text}}.dump() + "\n";
    write_file_atomically(root / "a.jsonl", lines);
    const auto counted = [&](Duplicates duplicates) {
      return parts_of(corpus_of(root / "a.jsonl", {.duplicates = duplicates}), 0.1).counts;
    };
    QCOMPARE(counted(Duplicates::keep).duplicates, 0);
    QCOMPARE(counted(Duplicates::keep).documents, 6);
    QCOMPARE(counted(Duplicates::remove_exact).duplicates, 2);
    QCOMPARE(counted(Duplicates::remove_exact).documents, 4);
    QCOMPARE(counted(Duplicates::remove_near).duplicates, 4);
  }

  /// The estimate against the similarity itself, of texts of which a known part was changed.
  void sketches_tell_similarity_data() {
    QTest::addColumn<int>("changed");
    for (const int changed : {0, 2, 5, 10, 30, 100})
      QTest::addRow("%d", changed) << changed;
  }
  void sketches_tell_similarity() {
    QFETCH(int, changed);
    constexpr int kWords = 2000;
    constexpr int kTrials = 20;
    double estimated = 0;
    double exact = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<std::string> words;
      for (int i = 0; i < kWords; ++i)
        words.push_back("w" + std::to_string(trial * kWords + i));
      const auto text = [&] {
        std::string all;
        for (const std::string& word : words)
          all += word + " ";
        return all;
      };
      const TextSketch before = sketch_of(text());
      for (int i = 0; i < changed; ++i)
        words[static_cast<std::size_t>(i * kWords / changed + 10)] += "x";
      estimated += similarity(before, sketch_of(text())) / kTrials;
      // Each changed word is in five runs; what was there is gone, something else is there.
      const double runs = kWords - 4;
      exact += (runs - 5 * changed) / (runs + 5 * changed) / kTrials;
    }
    // 128 bins, 20 trials: the standard error is at most 0.5 / √2560 = 0.01.
    QVERIFY2(std::abs(estimated - exact) < 0.04,
             qPrintable(QString("%1 is %2").arg(estimated).arg(exact)));
  }

  void samples_are_whole_or_thinned() {
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    std::string text;
    for (int i = 0; text.size() < (1 << 20); ++i)
      text += "Line " + std::to_string(i) + " \xC3\xA4\n" + (i % 50 == 0 ? "<|endoftext|>\n" : "");
    write_file_atomically(root / "a.txt", text);
    const Corpus corpus = corpus_of(root / "a.txt");
    const auto sample = [&](std::int64_t bytes) {
      return sample_text(corpus, bytes, CancelToken(), {});
    };
    const auto documents = [](const std::string& of) {
      std::vector<std::string> all;
      DocumentWalker walker(of);
      for (std::string_view document; walker.next(document);)
        all.emplace_back(document);
      return all;
    };
    std::vector<std::string> whole = documents(sample(2 << 20));
    std::vector<std::string> expected = documents(text);
    QCOMPARE(whole.size(), expected.size());
    QVERIFY(std::equal(whole.begin(), whole.end() - 1, expected.begin()));
    for (const std::int64_t bytes : {200'000, 500'000}) {
      const std::string thinned = sample(bytes);
      QVERIFY(is_utf8(thinned));
      QVERIFY(std::ssize(thinned) > bytes / 2 - (64 << 10) &&
              std::ssize(thinned) < bytes + (64 << 10));
    }
  }

  void fingerprints_follow_content_and_settings() {
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    write_file_atomically(root / "a.txt", "one");
    write_file_atomically(root / "b.txt", "one");
    Json remembered;
    const auto print = [&](const CorpusSource& source, const CorpusOptions& options = {}) {
      return corpus_fingerprint(Corpus({source}, options), remembered, CancelToken(), {});
    };
    const std::string first = print({.path = root / "a.txt"});
    QCOMPARE(first.size(), 16U);
    QCOMPARE(print({.path = root / "b.txt"}), first);
    QCOMPARE(print({.path = root / "a*"}), first);
    QVERIFY(print({.path = root}) != first);
    QVERIFY(print({.path = root / "a.txt", .weight = 2}) != first);
    QVERIFY(print({.path = root / "a.txt", .boundary = Boundary::file}) != first);
    QVERIFY(print({.path = root / "a.txt"}, {.duplicates = Duplicates::remove_exact}) != first);
    write_file_atomically(root / "a.txt", "two");
    QVERIFY(print({.path = root / "a.txt"}) != first);
    QVERIFY(remembered.empty());
  }
};

QTEST_APPLESS_MAIN(TestTokenize)
#include "test_tokenize.moc"
