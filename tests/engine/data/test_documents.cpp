// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <filesystem>
#include <fstream>

#include "engine/base/file.h"
#include "engine/base/utf8.h"
#include "engine/data/document_reader.h"
#include "tests/support/expect_error.h"

using namespace athanor;
namespace fs = std::filesystem;

class TestDocuments : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;
  fs::path root() const { return folder_->path().toStdString(); }

  fs::path write(const fs::path& name, const std::string& content) const {
    const fs::path path = root() / name;
    create_folders(path.parent_path());
    write_file_atomically(path, content);
    return path;
  }
  static std::vector<std::string> documents(const CorpusSource& source) {
    ReadingLog log({});
    DocumentReader reader(source, find_source_files(source.path), log);
    std::vector<std::string> all;
    for (DocumentPart part; reader.next(part);) {
      if (part.begins) all.emplace_back();
      all.back() += part.text;
    }
    return all;
  }
  static std::string joined(const CorpusSource& source) {
    std::string all;
    for (const std::string& document : documents(source))
      all += document + "|";
    return all;
  }
  /// Names of the found files, relative to the folder.
  std::string found(const std::string& pattern) const {
    std::string names;
    for (const SourceFile& file : find_source_files((root() / pattern).string()))
      names += file.path.lexically_relative(root()).string() + " ";
    return names;
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void boundaries_data() {
    QTest::addColumn<int>("boundary");
    QTest::addColumn<QByteArray>("separator");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("documents");
    const auto row = [](const char* title, Boundary boundary, const char* text,
                        const char* documents, const char* separator = "") {
      QTest::newRow(title) << static_cast<int>(boundary) << QByteArray(separator)
                           << QByteArray(text) << QByteArray(documents);
    };
    row("mark", Boundary::mark, "a\n\nb\n<|endoftext|>\r\nc", "a\n\nb|c|");
    row("mark at the ends", Boundary::mark, "<|endoftext|>\na\r\n<|endoftext|>", "a|");
    row("marks that are none", Boundary::mark, "a <|endoftext|>\n<|endoftext|>b\n",
        "a <|endoftext|>\n<|endoftext|>b\n|");
    row("file", Boundary::file, "a\n<|endoftext|>\n\nb\n", "a\n<|endoftext|>\n\nb\n|");
    row("blank lines", Boundary::blank_line, "\n\na\nb\n\n\r\n\nc\r\n\r\nd\n", "a\nb|c|d\n|");
    row("separator", Boundary::separator, "a\n---\nb---c\n---\n", "a|b---c|", "\n---\n");
    row("white space alone", Boundary::separator, "a# \n\t#b", "a|b|", "#");
  }
  void boundaries() {
    QFETCH(int, boundary);
    QFETCH(QByteArray, separator);
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, documents);
    const CorpusSource source{.path = write("t.txt", text.toStdString()),
                              .boundary = static_cast<Boundary>(boundary),
                              .separator = separator.toStdString()};
    QCOMPARE(QByteArray::fromStdString(joined(source)), documents);
  }

  /// Wherever the ends of what is read at a time fall.
  void ends_are_found_across_blocks() {
    constexpr std::size_t kBlock = 1 << 20;
    for (std::size_t before = kBlock - 20; before <= kBlock + 2; ++before) {
      const std::string first(before, 'x');
      const std::string path = write("t.txt", first + "\r\n<|endoftext|>\r\nend");
      const std::vector<std::string> read = documents({.path = path});
      QCOMPARE(read.size(), 2U);
      QVERIFY(read.front() == first);
      QCOMPARE(read.back(), std::string("end"));
    }
  }

  void long_documents_come_in_parts() {
    std::string text;
    while (text.size() < DocumentReader::kWhole_bytes * 5 / 2)
      text += "B\xC3\xA4ume wachsen. ";
    const std::string path = write("t.txt", text + "\n<|endoftext|>\nend\n");
    ReadingLog log({});
    DocumentReader reader({.path = path}, find_source_files(path), log);
    std::string whole;
    int parts = 0;
    DocumentPart part;
    do {
      QVERIFY(reader.next(part));
      QCOMPARE(part.begins, parts == 0);
      QVERIFY(is_utf8(part.text));
      whole += part.text;
      ++parts;
    } while (!part.ends);
    QCOMPARE(parts, 3);
    QVERIFY(whole == text);
    QVERIFY(reader.next(part));
    QVERIFY(part.begins && part.ends);
    QCOMPARE(part.text, std::string("end\n"));
    QCOMPARE(part.line, 3);
    QVERIFY(!reader.next(part));
    QVERIFY(!reader.next(part));
    QCOMPARE(reader.disk_bytes(), static_cast<std::int64_t>(fs::file_size(path)));
  }

  void records_are_documents() {
    const std::string path =
        write("a.jsonl",
              "{\"id\":1,\"text\":\"one\"}\n{\"id\":2}\n{\"text\":\" \"}\n{\"text\":null}\n"
              "{\"text\":7}\n");
    ReadingLog log({});
    DocumentReader reader({.path = path}, find_source_files(path), log);
    DocumentPart part;
    QVERIFY(reader.next(part));
    QCOMPARE(part.text, std::string("one"));
    QCOMPARE(reader.mapping(), std::string("text"));
    QVERIFY(reader.next(part));
    QCOMPARE(part.text, std::string("7"));
    QCOMPARE(part.line, 5);
    QVERIFY(!reader.next(part));
    QCOMPARE(log.bad_records(), 1);
    QCOMPARE(log.kept().front().line, 2);
  }
  void a_field_that_no_record_has_is_refused_at_once() {
    const std::string path = write("a.jsonl", "{\"id\":1,\"story\":\"one\"}\n");
    ATHANOR_EXPECT_ERROR(joined({.path = path, .text = "txt"}), ErrorKind::invalid_argument,
                         "its fields: id (number), story (string)");
  }
  void control_characters_are_refused_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("part");
    QTest::newRow("NUL") << QByteArray("one\ntwo\0x", 9) << QByteArray("t.txt, line 2");
    QTest::newRow("late") << QByteArray(3 << 20, '\n') + "a\x01" << QByteArray("line 3145729");
  }
  void control_characters_are_refused() {
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, part);
    const std::string path = write("t.txt", content.toStdString());
    ATHANOR_EXPECT_ERROR(joined({.path = path}), ErrorKind::invalid_argument, part.toStdString());
  }

  void folders_and_patterns() {
    for (const char* const name :
         {"b/two.txt", "a.md", "b/c/three.JSONL.gz", "b/picture.png", ".hidden.txt", ".git/x.txt"})
      write(name, "x");
    fs::create_directory_symlink(root(), root() / "b/again");
    fs::create_symlink(root() / "a.md", root() / "link.txt");
    QCOMPARE(found(""), std::string("a.md b/c/three.JSONL.gz b/two.txt link.txt "));
    QCOMPARE(found("*.md"), std::string("a.md "));
    QCOMPARE(found("**/t*"), std::string("b/c/three.JSONL.gz b/two.txt "));
    QCOMPARE(found("b/?wo.[st]xt"), std::string("b/two.txt "));
    QCOMPARE(found("b/picture.png"), std::string("b/picture.png "));
    write("[odd].txt", "x");
    QCOMPARE(found("[odd].txt"), std::string("[odd].txt "));
    ATHANOR_EXPECT_ERROR(found("*.csv"), ErrorKind::not_found, "No file matches");
    ATHANOR_EXPECT_ERROR(found("none.txt"), ErrorKind::not_found, "none.txt");
    create_folders(root() / "empty");
    ATHANOR_EXPECT_ERROR(found("empty"), ErrorKind::not_found, "it is empty");
    write("pictures/1.png", "x");
    ATHANOR_EXPECT_ERROR(found("pictures"), ErrorKind::not_found, "1 files of other kinds");
    ATHANOR_EXPECT_ERROR(find_source_files("/dev/null"), ErrorKind::invalid_argument,
                         "not an ordinary file");
  }
  void links_in_circles_end() {
    fs::create_symlink("loop.txt", root() / "loop.txt");
    ATHANOR_EXPECT_ERROR(found("loop.txt"), ErrorKind::io, "loop.txt");
  }
  void changes_are_noticed() {
    const fs::path path = write("a.txt", "one");
    const std::vector<SourceFile> files = find_source_files(path);
    check_unchanged(files);
    std::ofstream(path, std::ios::app) << "more";
    ATHANOR_EXPECT_ERROR(check_unchanged(files), ErrorKind::busy, "was changed while it was read");
    fs::remove(path);
    ATHANOR_EXPECT_ERROR(check_unchanged(files), ErrorKind::busy, "a.txt");
  }
};

QTEST_APPLESS_MAIN(TestDocuments)
#include "test_documents.moc"
