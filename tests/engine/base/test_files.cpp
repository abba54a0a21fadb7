// SPDX-License-Identifier: GPL-3.0-or-later
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest/QtTest>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace fs = std::filesystem;

/// Files: whole or not at all, and sentences for what can go wrong.
class TestFiles : public QObject {
  Q_OBJECT

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }
  void atomic_file_appears_at_commit();
  void atomic_file_leaves_nothing_behind();
  void write_at_completes_a_header();
  void kill_leaves_old_or_new();
  void full_disk_names_the_file();
  void mapped_file_holds_the_bytes();
  void errors_name_file_and_cause_data();
  void errors_name_file_and_cause();
  void small_file_has_a_limit();
  void absent_files_and_folders_are_refused();
  void named_pipe_is_refused();
  void folders_are_created();
  void impossible_places_are_refused();
  void free_space_is_known_for_files_to_come();
  void json_mistakes_have_line_and_column_data();
  void json_mistakes_have_line_and_column();
  void json_file_keeps_the_order_of_fields();

 private:
  fs::path path(const std::string& name) const {
    return fs::path(folder_->path().toStdString()) / name;
  }
  std::int64_t entries() const {
    return std::distance(fs::directory_iterator(folder_->path().toStdString()),
                         fs::directory_iterator());
  }

  std::unique_ptr<QTemporaryDir> folder_;
};

void TestFiles::atomic_file_appears_at_commit() {
  AtomicFile file(path("a"));
  file.write("first ");
  file.write("second");
  QVERIFY(!fs::exists(path("a")));
  file.commit();
  QCOMPARE(read_small_file(path("a")), std::string("first second"));
  QCOMPARE(entries(), std::int64_t{1});
  write_file_atomically(path("a"), "third");
  QCOMPARE(read_small_file(path("a")), std::string("third"));
}

void TestFiles::atomic_file_leaves_nothing_behind() {
  write_file_atomically(path("a"), "old");
  {
    AtomicFile file(path("a"));
    file.write("half of the new");
  }
  QCOMPARE(read_small_file(path("a")), std::string("old"));
  QCOMPARE(entries(), std::int64_t{1});
}

void TestFiles::write_at_completes_a_header() {
  AtomicFile file(path("a"));
  file.write("????body");
  const std::string header = "head";
  file.write_at(0, std::as_bytes(std::span(header)));
  file.write("!");
  file.commit();
  QCOMPARE(read_small_file(path("a")), std::string("headbody!"));
}

void TestFiles::kill_leaves_old_or_new() {
  constexpr int kTrials = 20;
  constexpr std::size_t kSize_bytes = 300000;
  for (int trial = 0; trial < kTrials; ++trial) {
    write_file_atomically(path("a"), std::string(kSize_bytes, 'a'));
    const pid_t child = ::fork();
    QVERIFY(child >= 0);
    if (child == 0) {
      for (char letter = 'b';; letter = letter == 'z' ? 'b' : static_cast<char>(letter + 1)) {
        write_file_atomically(path("a"), std::string(kSize_bytes, letter));
      }
    }
    ::usleep(static_cast<useconds_t>(700 * trial));
    ::kill(child, SIGKILL);
    int status = 0;
    QCOMPARE(::waitpid(child, &status, 0), child);
    QVERIFY(WIFSIGNALED(status));
    const std::string content = read_small_file(path("a"));
    QCOMPARE(content, std::string(kSize_bytes, content.front()));
  }
}

void TestFiles::full_disk_names_the_file() {
  if (!fs::exists("/dev/full")) QSKIP("no /dev/full here");
  // A partial file that is a full device, as on a disk without space.
  const fs::path partial = path("a").string() + ".partial-" + std::to_string(::getpid());
  fs::create_symlink("/dev/full", partial);
  AtomicFile file(path("a"));
  ATHANOR_EXPECT_ERROR(file.write("x"), ErrorKind::io, "Free some space");
  QVERIFY(!fs::exists(path("a")));
}

void TestFiles::mapped_file_holds_the_bytes() {
  write_file_atomically(path("a"), "mapped");
  MappedFile first(path("a"));
  QCOMPARE(first.text(), std::string_view("mapped"));
  const MappedFile second(std::move(first));
  QCOMPARE(second.text(), std::string_view("mapped"));
  write_file_atomically(path("empty"), "");
  QVERIFY(MappedFile(path("empty")).bytes().empty());
}

void TestFiles::errors_name_file_and_cause_data() {
  QTest::addColumn<QString>("action");
  QTest::addColumn<int>("error_number");
  QTest::addColumn<QString>("part");
  const auto row = [](const char* name, const char* action, int error_number, const char* part) {
    QTest::newRow(name) << QString(action) << error_number << QString(part);
  };
  row("missing", "open", ENOENT, "Check the name");
  row("full", "write", ENOSPC, "Free some space on that disk.");
  row("quota", "write", EDQUOT, "Free some space on that disk.");
  row("refused to read", "open", EACCES,
      "Check the permissions, or choose another file or folder.");
  row("refused to write", "write", EACCES, "Check the permissions, or choose another place.");
  row("read-only", "write", EROFS, "another place");
  row("folder", "read", EISDIR, "choose a file");
  row("memory", "read", ENOMEM, "Close other programs");
  row("other", "open", EIO, "Check the disk");
}

void TestFiles::errors_name_file_and_cause() {
  QFETCH(const QString, action);
  QFETCH(const int, error_number);
  QFETCH(const QString, part);
  const Error error = file_error(action.toStdString(), "some.file", error_number);
  QVERIFY(error.kind() == (error_number == ENOENT ? ErrorKind::not_found : ErrorKind::io));
  const std::string begin =
      "Cannot " + action.toStdString() + " some.file: " + system_error_text(error_number);
  QVERIFY2(error.message().starts_with(begin), error.what());
  QVERIFY2(error.message().find(part.toStdString()) != std::string::npos, error.what());
  QVERIFY(error.context().find(std::to_string(error_number)) != std::string::npos);
}

void TestFiles::small_file_has_a_limit() {
  write_file_atomically(path("a"), "12345");
  QCOMPARE(read_small_file(path("a"), 5), std::string("12345"));
  ATHANOR_EXPECT_ERROR(read_small_file(path("a"), 4), ErrorKind::invalid_argument, "far larger");
}

void TestFiles::absent_files_and_folders_are_refused() {
  ATHANOR_EXPECT_ERROR(read_small_file(path("b")), ErrorKind::not_found, path("b").string());
  ATHANOR_EXPECT_ERROR(read_small_file(path("")), ErrorKind::io, "It is a folder");
  ATHANOR_EXPECT_ERROR(MappedFile(path("b")), ErrorKind::not_found, "Cannot open");
}

void TestFiles::named_pipe_is_refused() {
  QCOMPARE(::mkfifo(path("pipe").c_str(), 0600), 0);
  ATHANOR_EXPECT_ERROR(MappedFile(path("pipe")), ErrorKind::invalid_argument,
                       "not an ordinary file");
}

void TestFiles::folders_are_created() {
  create_folders(path("one/two/three"));
  create_folders(path("one/two/three"));
  QVERIFY(fs::is_directory(path("one/two/three")));
  sync_folder(path("one"));
}

void TestFiles::impossible_places_are_refused() {
  write_file_atomically(path("file"), "x");
  ATHANOR_EXPECT_ERROR(create_folders(path("file/below")), ErrorKind::io, "Cannot create folder");
  ATHANOR_EXPECT_ERROR(create_folders(path("file")), ErrorKind::io, "Cannot create folder");
  ATHANOR_EXPECT_ERROR(sync_folder(path("absent")), ErrorKind::not_found, "absent");
  ATHANOR_EXPECT_ERROR(AtomicFile(path("absent/file")), ErrorKind::not_found, "Cannot write");
}

void TestFiles::free_space_is_known_for_files_to_come() {
  QVERIFY(free_disk_bytes(path("not/yet/there")) > 0);
}

void TestFiles::json_mistakes_have_line_and_column_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("place");
  QTest::newRow("first line") << "{\"a\": x}"
                              << "line 1, column 7";
  QTest::newRow("third line") << "{\n  \"a\": 1,\n  \"b\" 2\n}"
                              << "line 3, column 7";
  QTest::newRow("nothing") << ""
                           << "line 1, column 1";
  QTest::newRow("unfinished") << "{\"a\": [1, 2"
                              << "line 1, column";
  QTest::newRow("two values") << "1\n2"
                              << "line 2, column 1";
}

void TestFiles::json_mistakes_have_line_and_column() {
  QFETCH(const QString, text);
  QFETCH(const QString, place);
  ATHANOR_EXPECT_ERROR(parse_json(text.toStdString(), "spec.json"), ErrorKind::damaged,
                       "spec.json, " + place.toStdString());
  write_file_atomically(path("spec.json"), text.toStdString());
  ATHANOR_EXPECT_ERROR(read_json_file(path("spec.json")), ErrorKind::damaged,
                       path("spec.json").string() + ", " + place.toStdString());
}

void TestFiles::json_file_keeps_the_order_of_fields() {
  write_file_atomically(path("a.json"), R"({"z": 1, "a": [true, null]})");
  QCOMPARE(read_json_file(path("a.json")).dump(), std::string(R"({"z":1,"a":[true,null]})"));
  ATHANOR_EXPECT_ERROR(parse_json(R"({"a": 1e999})", "numbers.json"), ErrorKind::damaged,
                       "numbers.json");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestFiles)
#include "test_files.moc"
