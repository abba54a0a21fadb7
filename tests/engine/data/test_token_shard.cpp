// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <cstring>

#include "engine/base/checksum.h"
#include "engine/base/file.h"
#include "engine/data/token_shard.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestTokenShard : public QObject {
  Q_OBJECT

 private:
  static std::filesystem::path path_in(const QTemporaryDir& folder) {
    return folder.filePath("train.tokens").toStdString();
  }

  static void write_shard(const std::filesystem::path& path, std::int32_t vocabulary) {
    TokenShardWriter writer(path, vocabulary, 77);
    writer.add_part(std::vector<std::int32_t>{1, 2});
    writer.add_document(std::vector<std::int32_t>{vocabulary - 2, vocabulary - 1});
    writer.add_document(std::vector<std::int32_t>{5, vocabulary - 1});
    writer.finish();
  }

  template <class T>
  static void put(std::string& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
  }

  /// A wrong field with a right checksum: what a faulty program, not a faulty disk, would write.
  static void sign_header(std::string& bytes) {
    put(bytes, 56, checksum(std::as_bytes(std::span(bytes)).first(56)));
  }

 private slots:
  void reads_what_was_written_data() {
    QTest::addColumn<int>("vocabulary");
    QTest::addColumn<qint64>("size_bytes");
    QTest::newRow("two bytes") << 65536 << qint64{64 + 6 * 2};
    QTest::newRow("four bytes") << 65537 << qint64{64 + 6 * 4};
  }
  void reads_what_was_written() {
    QFETCH(int, vocabulary);
    QFETCH(qint64, size_bytes);
    const QTemporaryDir folder;
    write_shard(path_in(folder), vocabulary);
    QCOMPARE(qint64(std::filesystem::file_size(path_in(folder))), size_bytes);
    const TokenShard shard = TokenShard::open(path_in(folder));
    QCOMPARE(shard.tokens(), 6);
    QCOMPARE(shard.info().documents, 2);
    QCOMPARE(shard.info().tokenizer_fingerprint, 77U);
    std::vector<std::int32_t> ids(6);
    shard.read(0, ids);
    QCOMPARE(ids,
             (std::vector<std::int32_t>{1, 2, vocabulary - 2, vocabulary - 1, 5, vocabulary - 1}));
    QCOMPARE(shard.token(4), 5);
    ATHANOR_EXPECT_ERROR(shard.token(6), ErrorKind::internal, "beyond");
    ATHANOR_EXPECT_ERROR(shard.read(1, ids), ErrorKind::internal, "beyond");
    ATHANOR_EXPECT_ERROR(shard.token(-1), ErrorKind::internal, "beyond");
  }

  void unfinished_writers_leave_nothing() {
    const QTemporaryDir folder;
    { TokenShardWriter(path_in(folder), 300, 1).add_document(std::vector<std::int32_t>{1}); }
    QVERIFY(std::filesystem::is_empty(folder.path().toStdString()));
    TokenShardWriter writer(path_in(folder), 300, 1);
    ATHANOR_EXPECT_ERROR(writer.add_document(std::vector<std::int32_t>{300}), ErrorKind::internal,
                         "300");
  }

  void every_flipped_byte_is_noticed() {
    const QTemporaryDir folder;
    write_shard(path_in(folder), 300);
    const std::string good = read_small_file(path_in(folder));
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      write_file_atomically(path_in(folder), bad);
      ATHANOR_EXPECT_ERROR(TokenShard::open(path_in(folder)), ErrorKind::damaged, "train.tokens");
    }
  }

  void every_length_is_noticed() {
    const QTemporaryDir folder;
    write_shard(path_in(folder), 300);
    const std::string good = read_small_file(path_in(folder));
    for (std::size_t size = 0; size < good.size(); ++size) {
      write_file_atomically(path_in(folder), good.substr(0, size));
      ATHANOR_EXPECT_ERROR(TokenShard::open(path_in(folder)), ErrorKind::damaged, "train.tokens");
    }
    write_file_atomically(path_in(folder), good + "x");
    ATHANOR_EXPECT_ERROR(TokenShard::open(path_in(folder)), ErrorKind::damaged, "bytes for them");
  }

  void wrong_fields_with_right_checksum_data() {
    QTest::addColumn<int>("offset");
    QTest::addColumn<qint64>("value");
    QTest::addColumn<int>("size");
    QTest::addColumn<QByteArray>("part");
    QTest::newRow("version") << 8 << qint64{2} << 4 << QByteArray("version");
    QTest::newRow("token bytes 0") << 12 << qint64{0} << 4 << QByteArray("bytes a token");
    QTest::newRow("token bytes 4") << 12 << qint64{4} << 4 << QByteArray("bytes a token");
    QTest::newRow("tokens huge") << 16 << (qint64{1} << 62) << 8 << QByteArray("should hold");
    QTest::newRow("tokens negative") << 16 << qint64{-1} << 8 << QByteArray("counts");
    QTest::newRow("documents") << 24 << qint64{7} << 8 << QByteArray("counts");
    QTest::newRow("vocabulary 0") << 32 << qint64{0} << 4 << QByteArray("vocabulary");
    QTest::newRow("vocabulary small") << 32 << qint64{299} << 4 << QByteArray("beyond");
    QTest::newRow("reserved") << 36 << qint64{1} << 4 << QByteArray("reserved");
    QTest::newRow("payload checksum") << 48 << qint64{1} << 8 << QByteArray("content's checksum");
  }
  void wrong_fields_with_right_checksum() {
    QFETCH(int, offset);
    QFETCH(qint64, value);
    QFETCH(int, size);
    QFETCH(QByteArray, part);
    const QTemporaryDir folder;
    write_shard(path_in(folder), 300);
    std::string bytes = read_small_file(path_in(folder));
    std::memcpy(bytes.data() + offset, &value, static_cast<std::size_t>(size));
    sign_header(bytes);
    write_file_atomically(path_in(folder), bytes);
    ATHANOR_EXPECT_ERROR(TokenShard::open(path_in(folder)), ErrorKind::damaged, part.toStdString());
  }

  void missing_files_are_named() {
    ATHANOR_EXPECT_ERROR(TokenShard::open("/nonexistent/train.tokens"), ErrorKind::not_found,
                         "/nonexistent/train.tokens");
  }
};

QTEST_APPLESS_MAIN(TestTokenShard)
#include "test_token_shard.moc"
