// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <filesystem>

#include "engine/base/file.h"
#include "engine/data/record_reader.h"
#include "engine/data/text_mapping.h"
#include "tests/support/expect_error.h"
#include "tests/support/packed_files.h"

using namespace athanor;

class TestRecords : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  std::filesystem::path write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = folder_.filePath(name.c_str()).toStdString();
    write_file_atomically(path, content);
    return path;
  }
  std::unique_ptr<RecordReader> open(const std::string& name, const std::string& content,
                                     ReadingLog& log) const {
    return open_records(find_source_files(write(name, content).string()), log);
  }
  /// All records as "line:json", and after " | " the bad ones as "line:cause".
  std::string read(const std::string& name, const std::string& content) const {
    ReadingLog log({});
    const auto reader = open(name, content, log);
    std::string all;
    for (Record record; reader->next(record);)
      all += std::to_string(record.line) + ":" + record.fields.dump() + " ";
    all += "|";
    for (const BadRecord& bad : log.kept())
      all += " " + std::to_string(bad.line) + ":" + bad.cause;
    return all;
  }

 private slots:
  void reads_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("records");
    const auto row = [](const char* title, const char* name, const char* content,
                        const char* records) {
      QTest::newRow(title) << QByteArray(name) << QByteArray(content) << QByteArray(records);
    };
    row("lines", "a.jsonl", "{\"a\":1}\n\n{\"a\":\"x\\ny\"}\r\n{\"a\":[2]}",
        "1:{\"a\":1} 3:{\"a\":\"x\\ny\"} 4:{\"a\":[2]} |");
    row("byte-order mark", "a.jsonl", "\xEF\xBB\xBF{\"a\":1}\n", "1:{\"a\":1} |");
    row("bad lines", "a.jsonl", "{\"a\":1}\n{\"a\":}\nnull\n{\"a\":2}\n[1]\n",
        "1:{\"a\":1} 4:{\"a\":2} | 2:it is not valid JSON (column 6) 3:it is not a record in "
        "braces "
        "{ } but of the kind \"null\" 5:it is not a record in braces { } but of the kind "
        "\"array\"");
    row("number out of range", "a.jsonl", "{\"a\":1e999}\n",
        "| 1:it holds a value that no number can have");
    row("cut off", "a.jsonl",
        "{\"a\":1}\n{\"a\":", "1:{\"a\":1} | 2:it is not valid JSON (column 6)");
    row("list", "a.json", "[\n{\"a\":1},\n{\"b\":\"]},{\\\"\"}\n]\n",
        "2:{\"a\":1} 3:{\"b\":\"]},{\\\"\"} |");
    row("list on one line", "a.json", "[{\"a\":1},{\"a\":2}]", "1:{\"a\":1} 1:{\"a\":2} |");
    row("empty list", "a.json", "[]", "|");
    row("bad record in a list", "a.json", "[{\"a\":1},{\"a\":},7,{\"a\":3}]",
        "1:{\"a\":1} 1:{\"a\":3} | 1:it is not valid JSON (column 6) 1:it is not a record in "
        "braces "
        "{ } but of the kind \"number\"");
    row("list cut off", "a.json", "[{\"a\":1},\n{\"a\":\"",
        "1:{\"a\":1} | 2:the file ends in the middle of it 2:the file ends before the list's "
        "closing "
        "bracket ]");
    row("no list", "a.json", "{\n\"a\":1}\n{\"a\":2}", "1:{\"a\":1} 3:{\"a\":2} |");
    row("stray brackets", "a.json", "}]{\"a\":1}",
        "1:{\"a\":1} | 1:there is a closing bracket too "
        "many 1:there is a closing bracket too many");
    row("csv", "a.csv", "a,b\r\n1,\"x, \"\"y\"\"\nz\"\r\n\r\n,\n\"\",q\"r",
        "2:{\"a\":\"1\",\"b\":\"x, \\\"y\\\"\\nz\"} 5:{\"a\":\"\",\"b\":\"\"} "
        "6:{\"a\":\"\",\"b\":\"q\\\"r\"} |");
    row("semicolons", "a.csv", "a;b\n1,5;2\n", "2:{\"a\":\"1,5\",\"b\":\"2\"} |");
    row("tabs", "a.tsv", "a\tb\n1,5\t2", "2:{\"a\":\"1,5\",\"b\":\"2\"} |");
    row("wrong number of fields", "a.csv", "a,b\n1\n1,2\n1,2,3\n",
        "3:{\"a\":\"1\",\"b\":\"2\"} | 2:it has 1 fields where the first line has 2 4:it has 3 "
        "fields "
        "where the first line has 2");
    row("open quote", "a.csv", "a,b\n1,2\n\"1,2\n3,4\n",
        "2:{\"a\":\"1\",\"b\":\"2\"} | 3:a quotation mark in it is never closed");
    row("header only", "a.csv", "a,b\n", "|");
    row("empty", "a.csv", "", "|");
    row("empty lines", "a.jsonl", "", "|");
  }
  void reads() {
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, records);
    QCOMPARE(QByteArray::fromStdString(read(name.toStdString(), content.toStdString())), records);
    // Packed, the same; two members or frames are one text.
    const std::string text = content.toStdString();
    const std::string first = text.substr(0, text.size() / 2);
    const std::string second = text.substr(text.size() / 2);
    QCOMPARE(QByteArray::fromStdString(
                 read(name.toStdString() + ".gz", gzipped(first) + gzipped(second))),
             records);
    QCOMPARE(QByteArray::fromStdString(
                 read(name.toStdString() + ".zst", zstandard(first) + zstandard(second))),
             records);
  }

  void refuses_headers_data() {
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("part");
    QTest::newRow("twice") << QByteArray("a,b,a\n") << QByteArray("names the field \"a\" twice");
    QTest::newRow("open") << QByteArray("\"a,b\n") << QByteArray("never closed");
    QTest::newRow("many") << QByteArray(2000, ',') << QByteArray("more than 1024");
  }
  void refuses_headers() {
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, part);
    ReadingLog log({});
    ATHANOR_EXPECT_ERROR(
        open("h.csv", content.toStdString(), log)->next(*std::make_unique<Record>()),
        ErrorKind::damaged, part.toStdString());
  }

  void damaged_packing_is_named_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("part");
    std::string text;
    for (int i = 0; i < 20'000; ++i)
      text += "{\"a\":" + std::to_string(i * 7919) + "}\n";
    const QByteArray gzip = QByteArray::fromStdString(gzipped(text));
    const QByteArray zstd = QByteArray::fromStdString(zstandard(text));
    const auto changed = [](QByteArray bytes) {
      for (qsizetype at = bytes.size() / 2; at < bytes.size() / 2 + 40; ++at)
        bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
      return bytes;
    };
    QTest::newRow("gzip cut off") << QByteArray("g.jsonl.gz") << gzip.left(gzip.size() / 2)
                                  << QByteArray("ends in the middle");
    QTest::newRow("gzip without its end")
        << QByteArray("g.jsonl.gz") << gzip.chopped(3) << QByteArray("ends in the middle");
    QTest::newRow("gzip changed") << QByteArray("g.jsonl.gz") << changed(gzip)
                                  << QByteArray("is damaged");
    QTest::newRow("something after it")
        << QByteArray("g.jsonl.gz") << gzip + "more" << QByteArray("has something else after");
    QTest::newRow("zstd cut off") << QByteArray("z.jsonl.zst") << zstd.left(zstd.size() / 2)
                                  << QByteArray("ends in the middle");
    QTest::newRow("zstd changed") << QByteArray("z.jsonl.zst") << changed(zstd)
                                  << QByteArray("is damaged");
  }
  void damaged_packing_is_named() {
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, part);
    ReadingLog log({});
    const auto read_all = [&] {
      const auto reader = open(name.toStdString(), content.toStdString(), log);
      for (Record record; reader->next(record);) {
      }
    };
    ATHANOR_EXPECT_ERROR(read_all(), ErrorKind::damaged, part.toStdString());
    ATHANOR_EXPECT_ERROR(read_all(), ErrorKind::damaged, name.toStdString());
  }
  void zeros_after_a_gzip_member_are_passed_over() {
    const std::string packed = gzipped("{\"a\":1}\n") + std::string(1000, '\0');
    QCOMPARE(read("p.jsonl.gz", packed), std::string("1:{\"a\":1} |"));
  }

  void records_that_are_too_much_are_bad_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<QByteArray>("bad");
    QTest::addColumn<QByteArray>("cause");
    const QByteArray deep = "{\"a\":" + QByteArray(100'000, '[') + QByteArray(100'000, ']') + "}";
    QByteArray wide = "{\"a\":0";
    for (int i = 0; i < 5000; ++i)
      wide += ",\"" + QByteArray::number(i) + "\":0";
    wide += "}";
    const QByteArray many = "{\"a\":[" + QByteArray("0,").repeated(2 << 20) + "0]}";
    const QByteArray large =
        "{\"a\":\"" + QByteArray(RecordReader::kLongestRecord_bytes + (3 << 20), 'x') + "\"}";
    const QByteArray large_row =
        "1,\"" + QByteArray(RecordReader::kLongestRecord_bytes, 'x') + "\"";
    for (const char* const name : {"t.jsonl", "t.json"}) {
      const auto row = [&](const char* title, const QByteArray& bad, const char* cause) {
        QTest::addRow("%s, %s", name, title) << QByteArray(name) << bad << QByteArray(cause);
      };
      row("deep", deep, "it is nested deeper than 64 levels");
      row("wide", wide, "it has more than 4096 fields");
      row("many", many, "it has more than 1048576 values");
      row("large", large, "it is longer than 32 MiB");
    }
    QTest::newRow("csv, large") << QByteArray("t.csv") << large_row
                                << QByteArray("it is longer than 32 MiB");
  }
  void records_that_are_too_much_are_bad() {
    QFETCH(QByteArray, name);
    QFETCH(QByteArray, bad);
    QFETCH(QByteArray, cause);
    const bool csv = name.endsWith(".csv");
    const std::string good = csv ? "a,b\n1,2\n" : "{\"a\":1}\n";
    const std::string content = good + bad.toStdString() + "\n" + (csv ? "3,4\n" : "{\"a\":3}\n");
    const std::string all = read(name.toStdString(), content);
    const std::string expected =
        csv ? "2:{\"a\":\"1\",\"b\":\"2\"} 4:{\"a\":\"3\",\"b\":\"4\"} | 3:"
            : "1:{\"a\":1} 3:{\"a\":3} | 2:";
    QCOMPARE(QString::fromStdString(all.substr(0, 200)), QString::fromStdString(expected) + cause);
  }

  void bad_records_can_be_fatal() {
    ReadingLog log({.bad_records = BadRecords::fail});
    const auto reader = open("f.jsonl", "{\"a\":1}\n{]\n", log);
    Record record;
    QVERIFY(reader->next(record));
    ATHANOR_EXPECT_ERROR(reader->next(record), ErrorKind::damaged,
                         "f.jsonl, line 2: it is not valid JSON");
  }

  void encodings_data() {
    QTest::addColumn<int>("choice");
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("invalid");
    const auto row = [](const char* title, InvalidUtf8 choice, const QByteArray& content,
                        const QByteArray& text, int invalid) {
      QTest::newRow(title) << static_cast<int>(choice) << content << text << invalid;
    };
    row("replaced", InvalidUtf8::replace, "t\na\xFFz\xC3", "a\xEF\xBF\xBDz\xEF\xBF\xBD", 2);
    row("kept", InvalidUtf8::keep, "t\na\xFFz", "a\xFFz", 1);
    row("UTF-16, little end first", InvalidUtf8::replace,
        QByteArray("\xFF\xFEt\0\n\0\xE4\0\x3D\xD8\x00\xDE", 12), "\xC3\xA4\xF0\x9F\x98\x80", 0);
    row("UTF-16, big end first", InvalidUtf8::replace,
        QByteArray("\xFE\xFF\0t\0\n\x20\xAC\xDC\x00\0!", 12), "\xE2\x82\xAC\xEF\xBF\xBD!", 2);
    row("UTF-16 cut off", InvalidUtf8::replace, QByteArray("\xFF\xFEt\0\n\0a\0b", 9),
        "a\xEF\xBF\xBD", 1);
  }
  void encodings() {
    QFETCH(int, choice);
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, text);
    QFETCH(int, invalid);
    ReadingLog log({.invalid_utf8 = static_cast<InvalidUtf8>(choice)});
    const auto reader = open("e.csv", content.toStdString(), log);
    Record record;
    QVERIFY(reader->next(record));
    QCOMPARE(QByteArray::fromStdString(record.fields["t"].get<std::string>()), text);
    QCOMPARE(log.invalid_bytes(), invalid);
    QCOMPARE(log.first_invalid().ends_with("e.csv, line 2"), invalid > 0);
    if (invalid == 0) return;
    ReadingLog strict({.invalid_utf8 = InvalidUtf8::fail});
    ATHANOR_EXPECT_ERROR(open("e.csv", content.toStdString(), strict)->next(record),
                         ErrorKind::damaged, "e.csv, line 2 is not UTF-8");
  }
  void unmarked_utf16_is_named() {
    ReadingLog log({});
    Record record;
    ATHANOR_EXPECT_ERROR(open("u.jsonl", std::string("{\0\"\0a\0", 6), log)->next(record),
                         ErrorKind::invalid_argument, "without a byte-order mark");
  }

  void mappings_data() {
    QTest::addColumn<QByteArray>("mapping");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("cause");
    const auto row = [](const char* mapping, const char* text, const char* cause = "") {
      QTest::newRow(mapping) << QByteArray(mapping) << QByteArray(text) << QByteArray(cause);
    };
    row("text", "Hello");
    row("{title}\n\n{text}", "A\n\nHello");
    row("{title}\\n{n}{none}", "A\n7");
    row("{{{title}}}", "{A}");
    row("inner.deep", "D");
    row("a.b", "dotted");
    row("missing", "", "it has no field \"missing\"; its fields: title (string), text (string)");
    row("inner", "", "its field \"inner\" is no text but of the kind \"object\"");
    row("none", "");
  }
  void mappings() {
    QFETCH(QByteArray, mapping);
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, cause);
    const Json fields = Json::parse(
        "{\"title\":\"A\",\"text\":\"Hello\",\"n\":7,\"none\":null,\"inner\":{\"deep\":\"D\"},\"a."
        "b\":\"dotted\"}");
    std::string made;
    std::string said;
    const bool good = TextMapping(mapping.toStdString()).apply(fields, made, said);
    QCOMPARE(good, cause.isEmpty());
    if (good) QCOMPARE(QByteArray::fromStdString(made), text);
    QVERIFY2(said.starts_with(cause.toStdString()), said.c_str());
  }
  void the_text_is_found() {
    const auto found = [](const char* json) {
      return TextMapping::detect(Json::parse(json), "f.jsonl, line 1").description();
    };
    QCOMPARE(found("{\"id\":1,\"words\":\"x\"}"), std::string("words"));
    QCOMPARE(found("{\"url\":\"u\",\"content\":\"c\",\"text\":\"x\"}"), std::string("text"));
    QCOMPARE(found("{\"{\":\"x\"}"), std::string("{"));
    ATHANOR_EXPECT_ERROR(found("{\"question\":\"q\",\"answer\":\"a\"}"),
                         ErrorKind::invalid_argument, "question (string), answer (string)");
    for (const char* const bad : {"{a", "a}", "{{a}}"}) {
      ATHANOR_EXPECT_ERROR(TextMapping(bad), ErrorKind::invalid_argument, "template");
    }
  }

  void damaged_parquet_is_refused() {
    ReadingLog log({});
    const auto path = write("p.parquet", "PAR1");
#ifdef ATHANOR_PARQUET
    constexpr ErrorKind kKind = ErrorKind::damaged;
    const std::string part = "p.parquet is not a usable Parquet file";
#else
    constexpr ErrorKind kKind = ErrorKind::unsupported;
    const std::string part = "built without Apache Arrow";
#endif
    ATHANOR_EXPECT_ERROR(open_records(find_source_files(path.string()).front(), log), kKind, part);
  }
  void plain_text_has_no_records() {
    ReadingLog log({});
    const auto path = write("p.txt", "text");
    ATHANOR_EXPECT_ERROR(open_records(find_source_files(path.string()).front(), log),
                         ErrorKind::invalid_argument, "plain text");
  }
};

QTEST_APPLESS_MAIN(TestRecords)
#include "test_records.moc"
