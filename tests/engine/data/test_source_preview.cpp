// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>

#include "engine/base/file.h"
#include "engine/data/source_preview.h"
#include "engine/data/token_statistics.h"
#include "engine/data/tokenizer.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestSourcePreview : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  std::filesystem::path write(const char* name, const std::string& content) const {
    const std::filesystem::path path = folder_.filePath(name).toStdString();
    write_file_atomically(path, content);
    return path;
  }
  static SourcePreview preview(const CorpusSource& source, const PreviewOptions& options = {}) {
    return preview_source(source, {}, options, CancelToken());
  }
  TokenShard shard_of(const std::vector<int>& lengths) const {
    const std::filesystem::path path = folder_.filePath("s.tokens").toStdString();
    TokenShardWriter writer(path, 300, 0);
    for (const int length : lengths) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(length), 7);
      ids.back() = 256;
      writer.add_document(ids);
    }
    writer.finish();
    return TokenShard::open(path);
  }

 private slots:
  void records_are_shown_with_their_fields() {
    const std::string path =
        write("a.jsonl",
              "{\"id\":1,\"text\":\"one\"}\n{bad\n{\"id\":\"x\",\"text\":\"two\",\"tags\":[1]}\n"
              "{\"id\":null,\"text\":\"three\"}\n");
    const SourcePreview all = preview({.path = path}, {.records = 2});
    QCOMPARE(all.problem, std::string());
    QVERIFY(all.complete);
    QCOMPARE(all.documents, 3);
    QCOMPARE(all.text_bytes, 11);
    QCOMPARE(all.text, std::string("text"));
    QCOMPARE(all.bad_records, 1);
    QCOMPARE(all.bad.at(0).line, 2);
    QCOMPARE(all.first.size(), 2U);
    QCOMPARE(all.first[1].line, 3);
    QCOMPARE(all.first[1].text, std::string("two"));
    QCOMPARE(all.first[1].content, std::string("{\"id\":\"x\",\"text\":\"two\",\"tags\":[1]}"));
    QCOMPARE(all.fields.size(), 3U);
    QCOMPARE(all.fields[0].type, std::string("mixed"));
    QCOMPARE(all.fields[0].records, 3);
    QCOMPARE(all.fields[1].type, std::string("text"));
    QCOMPARE(all.fields[2].records, 1);
    QCOMPARE(all.fields[2].example, std::string("[1]"));

    const SourcePreview some = preview({.path = path}, {.read_documents = 1});
    QCOMPARE(some.documents, 1);
    QVERIFY(!some.complete);
  }
  void without_a_text_the_records_are_shown_and_why() {
    const std::string path = write("q.csv", "question,answer\nwhy,so\n");
    const SourcePreview result = preview({.path = path});
    QVERIFY2(QString::fromStdString(result.problem).contains("question (string), answer (string)"),
             result.problem.c_str());
    QCOMPARE(result.first.size(), 1U);
    QCOMPARE(result.first[0].line, 2);
    QCOMPARE(result.first[0].problem, result.problem);
    QCOMPARE(result.fields.size(), 2U);
    QCOMPARE(preview({.path = path, .text = "{question} {answer}"}).first.at(0).text,
             std::string("why so"));
  }
  void long_texts_are_cut_between_characters() {
    std::string text;
    while (text.size() < 2 * kLongestPreview_bytes)
      text += "\xE2\x82\xAC";
    const SourcePreview result = preview({.path = write("t.txt", text)});
    QVERIFY(result.first.at(0).text.size() <= kLongestPreview_bytes + 3);
    QVERIFY(QString::fromStdString(result.first[0].text).endsWith("€…"));
    QVERIFY(result.fields.empty());
  }
  void faults_are_told() {
    QVERIFY(preview({.path = write("b.txt", std::string("text\0more", 9))})
                .problem.find("not a text") != std::string::npos);
    QVERIFY(preview({.path = write("e.txt", "")}).problem.find("holds no text") !=
            std::string::npos);
    QCOMPARE(preview({.path = write("l.txt", "caf\xE9 noir")}).invalid_bytes, 1);
    ATHANOR_EXPECT_ERROR(preview({.path = "/none"}), ErrorKind::not_found, "/none");
    CancelToken cancel;
    cancel.request();
    QVERIFY_EXCEPTION_THROWN(preview_source({.path = write("t.txt", "a")}, {}, {}, cancel),
                             Cancelled);
  }

  void statistics_of_tokens() {
    const TokenShard shard = shard_of({1, 3, 4, 10, 2});  // 20 tokens
    const TokenStatistics result = token_statistics(shard, 256, 8, CancelToken());
    QCOMPARE(result.tokens, 20);
    QCOMPARE(result.documents, 5);
    QCOMPARE(result.mean_tokens, 4.0);
    QCOMPARE(result.median_tokens, 3);
    QCOMPARE(result.longest_tokens, 10);
    QCOMPARE(result.lengths, (std::vector<std::int64_t>{1, 2, 1, 1}));
    QCOMPARE(result.longer_documents, 1);
    // Only the fourth, tokens 8 … 17, is in two windows: 8 … 15 and 16 … 23.
    QCOMPARE(result.cut_documents, 1);
    // Windows of 8 and the next token, in 20: one, (20 − 8) ÷ 8 rounded down.
    QCOMPARE(result.windows, 1);
    QCOMPARE(result.packing_efficiency, 8.0 / 20);
    QCOMPARE(result.padded_efficiency, 20.0 / 48);
    const HostBatch batch = first_batch(shard, 256, 2, 8, 3);
    QCOMPARE(batch.tokens.size(), 16U);
    BatchLoader loader(shard, 256, 8, 3);
    HostBatch expected(2, 8);
    loader.next(expected);
    QVERIFY(batch.tokens == expected.tokens);
    QVERIFY(batch.document_starts == expected.document_starts);
    QCOMPARE(token_statistics(shard, 256, 1000, CancelToken()).windows, 0);
    ATHANOR_EXPECT_ERROR(token_statistics(shard, 256, 0, CancelToken()),
                         ErrorKind::invalid_argument, "at least one token");
  }
};

QTEST_APPLESS_MAIN(TestSourcePreview)
#include "test_source_preview.moc"
