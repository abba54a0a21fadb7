// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>

#include "engine/base/file.h"
#include "engine/data/tokenize.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestTokenize : public QObject {
  Q_OBJECT

 private:
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
    QTest::newRow("documents") << "one" + mark + "two" + mark + "three" + mark << 0.4
                               << QByteArray("one|two|") << QByteArray("three|");
    QTest::newRow("small part still gets one")
        << "one" + mark + "two" + mark << 0.01 << QByteArray("one|") << QByteArray("two|");
    QTest::newRow("large part leaves one")
        << "one" + mark + "two" + mark << 0.99 << QByteArray("one|") << QByteArray("two|");
    QTest::newRow("carriage returns") << QByteArray("one\r\n<|endoftext|>\r\ntwo\r\n") << 0.5
                                      << QByteArray("one|") << QByteArray("two\r\n|");
    QTest::newRow("mark inside a line")
        << QByteArray("a <|endoftext|>\n<|endoftext|> b\nc") << 0.1
        << QByteArray("a <|endoftext|>\n<|endoftext|> b\n|") << QByteArray("c|");
    QTest::newRow("empty documents") << mark + mark + "one" + mark + mark + "two" + mark << 0.5
                                     << QByteArray("one|") << QByteArray("two|");
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
    const TextFile file = TextFile::open(root / "text.txt", CancelToken());
    const TokenizedCorpus corpus =
        tokenize_corpus(file, tokenizer, fraction, root / "shards", CancelToken());
    QCOMPARE(QByteArray::fromStdString(decoded(tokenizer, root / "shards/train.tokens")), train);
    QCOMPARE(QByteArray::fromStdString(decoded(tokenizer, root / "shards/validation.tokens")),
             validation);
    QCOMPARE(qsizetype(corpus.text_bytes), text.size());
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
    const TextFile file = TextFile::open(root / "text.txt", CancelToken());
    const TokenizedCorpus corpus = tokenize_corpus(file, tokenizer, 0.1, root, CancelToken());
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
    QTest::newRow("one character") << QByteArray("a");
    QTest::newRow("one multibyte character") << QByteArray("\xC3\xA4");
    QTest::newRow("one short document") << QByteArray("a\n<|endoftext|>\n");
    QTest::newRow("only marks") << QByteArray("<|endoftext|>\n<|endoftext|>\n");
  }
  void refuses_short_texts() {
    QFETCH(QByteArray, text);
    const QTemporaryDir folder;
    const std::filesystem::path root = folder.path().toStdString();
    write_file_atomically(root / "text.txt", text.toStdString());
    const TextFile file = TextFile::open(root / "text.txt", CancelToken());
    const Tokenizer tokenizer{{}};
    ATHANOR_EXPECT_ERROR(tokenize_corpus(file, tokenizer, 0.1, root, CancelToken()),
                         ErrorKind::invalid_argument, "too short");
    ATHANOR_EXPECT_ERROR(tokenize_corpus(file, tokenizer, 0.0, root, CancelToken()),
                         ErrorKind::invalid_argument, "between 0 and 1");
    CancelToken cancel;
    cancel.request();
    QVERIFY_EXCEPTION_THROWN(tokenize_corpus(file, tokenizer, 0.1, root, cancel), Cancelled);
    QVERIFY(!std::filesystem::exists(root / "train.tokens"));
  }
};

QTEST_APPLESS_MAIN(TestTokenize)
#include "test_tokenize.moc"
