// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/data/text_file.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestTextFile : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::filesystem::path path() const { return folder_.filePath("text.txt").toStdString(); }

 private slots:
  void accepts_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("text");
    const auto same = [](const char* name, const QByteArray& text) {
      QTest::newRow(name) << text << text;
    };
    same("ascii", "Hello, world.\n\tYes\r\n\f");
    same("no line end", "x");
    same("all lengths",
         "\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xF0\x90\x80\x80 "
         "\xF4\x8F\xBF\xBF");
    QTest::newRow("byte-order mark") << QByteArray("\xEF\xBB\xBFHi") << QByteArray("Hi");
  }
  void accepts() {
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, text);
    write_file_atomically(path(), content.toStdString());
    const TextFile file = TextFile::open(path(), CancelToken());
    QCOMPARE(QByteArray::fromStdString(std::string(file.text())), text);
    QCOMPARE(file.path(), path());
  }

  void refuses_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("part");
    QTest::newRow("empty") << QByteArray() << QByteArray("is empty");
    QTest::newRow("only a mark") << QByteArray("\xEF\xBB\xBF") << QByteArray("is empty");
    QTest::newRow("white space") << QByteArray(100, ' ') + "\n\t\r\n" << QByteArray("white space");
    QTest::newRow("NUL") << QByteArray("one\ntwo\0x", 9) << QByteArray("line 2 (byte 8");
    QTest::newRow("control") << QByteArray("abcdefgh\nabc\x01") << QByteArray("line 2 (byte 13");
    QTest::newRow("delete") << QByteArray("abcdefghij\x7F") << QByteArray("byte 11");
    const char* const not_utf8[] = {"\x80",
                                    "\xC0\x80",
                                    "\xC1\xBF",
                                    "\xC3",
                                    "\xE0\x9F\xBF",
                                    "\xED\xA0\x80",
                                    "\xE2\x82",
                                    "\xF0\x8F\xBF\xBF",
                                    "\xF4\x90\x80\x80",
                                    "\xF5\x80\x80\x80",
                                    "\xC3(",
                                    "\xFF"};
    for (const char* const bytes : not_utf8) {
      QTest::newRow(QByteArray(bytes).toHex())
          << QByteArray("first\nabc") + bytes + " end of it" << QByteArray("line 2 (byte 10");
    }
    QTest::newRow("cut at the end") << QByteArray("caf\xC3") << QByteArray("save it as UTF-8");
    QTest::newRow("UTF-16 with mark") << QByteArray("\xFF\xFEH\0i\0", 6) << QByteArray("UTF-16");
    QTest::newRow("UTF-16 without mark") << QByteArray("H\0i\0!\0", 6) << QByteArray("UTF-16");
  }
  void refuses() {
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, part);
    write_file_atomically(path(), content.toStdString());
    ATHANOR_EXPECT_ERROR(TextFile::open(path(), CancelToken()), ErrorKind::invalid_argument,
                         part.toStdString());
    ATHANOR_EXPECT_ERROR(TextFile::open(path(), CancelToken()), ErrorKind::invalid_argument,
                         path().string());
  }

  void refuses_missing_files_and_folders() {
    ATHANOR_EXPECT_ERROR(TextFile::open(path() / "none", CancelToken()), ErrorKind::io, "none");
    ATHANOR_EXPECT_ERROR(TextFile::open(path().string() + ".none", CancelToken()),
                         ErrorKind::not_found, ".none");
    ATHANOR_EXPECT_ERROR(TextFile::open(path().parent_path(), CancelToken()), ErrorKind::io,
                         "folder");
  }

  void refuses_a_huge_sparse_file_at_once() {
    write_file_atomically(path(), "A beginning\n");
    std::filesystem::resize_file(path(), std::uintmax_t{5} << 30);
    const Stopwatch watch;
    ATHANOR_EXPECT_ERROR(TextFile::open(path(), CancelToken()), ErrorKind::invalid_argument,
                         "line 2 (byte 13");
    QVERIFY(watch.seconds() < 5.0);
    std::filesystem::remove(path());
  }

  void reports_progress_and_cancels() {
    write_file_atomically(path(), std::string(5 << 20, 'x'));
    std::int64_t last = -1;
    TextFile::open(path(), CancelToken(),
                   [&](const std::string&, std::int64_t done, std::int64_t) { last = done; });
    QCOMPARE(last, std::int64_t{5 << 20});
    CancelToken cancel;
    QVERIFY_EXCEPTION_THROWN(
        TextFile::open(path(), cancel,
                       [&](const std::string&, std::int64_t, std::int64_t) { cancel.request(); }),
        Cancelled);
  }
};

QTEST_APPLESS_MAIN(TestTextFile)
#include "test_text_file.moc"
