// SPDX-License-Identifier: GPL-3.0-or-later
#include <SQLiteCpp/Database.h>
#include <QtTest/QtTest>

#include <filesystem>
#include <fstream>
#include <random>

#include "engine/base/file.h"
#include "engine/store/run_store.h"
#include "tests/engine/store/sample_runs.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

namespace fs = std::filesystem;

std::string random_bytes(std::size_t count) {
  std::mt19937 engine(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes)
    byte = static_cast<char>(engine());
  return bytes;
}

/// A database with some pages of rows, closed and so without companions.
std::string content_of_good_database() {
  const QTemporaryDir folder;
  const fs::path home = folder.path().toStdString();
  {
    RunStore store(home);
    store.append(store.create_run(sample_run("Before")), sample_metrics(1, 2000));
  }
  return read_small_file(home / "athanor.db");
}

std::vector<fs::path> set_aside_files(const fs::path& home) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(home)) {
    if (entry.path().filename().string().starts_with("athanor.db.damaged-")) {
      found.push_back(entry.path());
    }
  }
  return found;
}

const RunRecord* run_named(const std::vector<RunRecord>& records, const std::string& name) {
  for (const RunRecord& record : records) {
    if (record.name == name) return &record;
  }
  return nullptr;
}

}  // namespace

/// Files that are damaged, missing, old, new or not files at all.
class TestStoreRecovery : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void damaged_file_is_set_aside_data();
  void damaged_file_is_set_aside();
  void runs_are_entered_again();
  void unreadable_run_folders_are_passed_over();
  void missing_list_is_made_again();
  void empty_file_is_a_new_one();
  void newer_version_is_refused();
  void old_versions_are_migrated_data();
  void old_versions_are_migrated();
  void impossible_homes_are_refused();

 private:
  fs::path home() const { return home_->path().toStdString(); }
  fs::path file() const { return home() / "athanor.db"; }

  std::unique_ptr<QTemporaryDir> home_;
};

void TestStoreRecovery::init() {
  home_ = std::make_unique<QTemporaryDir>();
}

void TestStoreRecovery::damaged_file_is_set_aside_data() {
  QTest::addColumn<std::string>("content");
  const std::string good = content_of_good_database();
  QTest::newRow("random bytes") << random_bytes(50'000);
  QTest::newRow("a few bytes") << std::string("hello");
  QTest::newRow("text") << std::string(5000, 'x');
  QTest::newRow("zeros") << std::string(8192, '\0');
  QTest::newRow("only the first page") << good.substr(0, 4096);
  QTest::newRow("cut in half") << good.substr(0, good.size() / 2);
  QTest::newRow("last bytes missing") << good.substr(0, good.size() - 100);
  std::string overwritten = good;
  overwritten.replace(overwritten.size() / 2, 6000, random_bytes(6000));
  QTest::newRow("overwritten inside") << overwritten;
}

void TestStoreRecovery::damaged_file_is_set_aside() {
  QFETCH(const std::string, content);
  write_file_atomically(file(), content);
  make_run_folder(home(), 4, "Kept", 100, {50});
  RunStore store(home());
  const auto set_aside = set_aside_files(home());
  QCOMPARE(set_aside.size(), std::size_t{1});
  QVERIFY(read_small_file(set_aside[0]) == content);
  const Notice& note = store.recovery_note();
  QCOMPARE(note.title, std::string("The run list was damaged and has been made anew"));
  QCOMPARE(note.text, "The old one is kept as " + set_aside[0].string() +
                          ". 1 run was found in its folder and entered again; its "
                          "conversations are only in the old file.");
  QVERIFY(!note.details.empty());
  QCOMPARE(store.runs().size(), std::size_t{1});
  QCOMPARE(store.create_run(sample_run("New")), std::int64_t{5});
  QVERIFY(RunStore(home()).recovery_note().empty());
}

void TestStoreRecovery::runs_are_entered_again() {
  write_file_atomically(file(), random_bytes(4096));
  make_run_folder(home(), 2, "Half way", 100, {25, 50});
  make_run_folder(home(), 3, "Done", 100, {50, 100});
  make_run_folder(home(), 11, "Just begun", 100, {});
  const RunStore store(home());
  const auto records = store.runs();
  QCOMPARE(records.size(), std::size_t{3});
  const RunRecord* half = run_named(records, "Half way");
  QVERIFY(half != nullptr);
  QCOMPARE(half->id, std::int64_t{2});
  QVERIFY(half->status == RunStatus::interrupted);
  QCOMPARE(half->step, std::int64_t{50});
  QCOMPARE(half->steps, std::int64_t{100});
  QCOMPARE(half->tokens, std::int64_t{3200});
  QCOMPARE(half->validation_loss.value_or(0), 3.5);
  QCOMPARE(half->best_validation_loss.value_or(0), 3.25);
  QVERIFY(half->created_ms > 1'600'000'000'000);
  const auto checkpoints = store.checkpoints(2);
  QCOMPARE(checkpoints.size(), std::size_t{2});
  QCOMPARE(checkpoints[0].step, std::int64_t{25});
  QVERIFY(fs::is_directory(checkpoints[1].path));
  QVERIFY(run_named(records, "Done") != nullptr);
  QVERIFY(run_named(records, "Done")->status == RunStatus::finished);
  QVERIFY(run_named(records, "Just begun") != nullptr);
  QVERIFY(run_named(records, "Just begun")->status == RunStatus::interrupted);
}

void TestStoreRecovery::unreadable_run_folders_are_passed_over() {
  write_file_atomically(file(), random_bytes(4096));
  make_run_folder(home(), 1, "Good", 100, {50});
  write_file_atomically(home() / "runs/000001/checkpoints/step-00000050/state.json", "{ not json");
  for (const char* folder : {"000007", "000008", "000009", "notes"}) {
    create_folders(home() / "runs" / folder);
  }
  write_file_atomically(home() / "runs/000007/spec.json", "[1, 2");
  write_file_atomically(home() / "runs/000008/spec.json", "[1, 2]");
  RunStore store(home());
  QCOMPARE(store.runs().size(), std::size_t{1});
  QCOMPARE(store.runs()[0].step, std::int64_t{50});
  // Folders that are there keep their numbers.
  QCOMPARE(store.create_run(sample_run("New")), std::int64_t{10});
}

void TestStoreRecovery::missing_list_is_made_again() {
  make_run_folder(home(), 4, "Kept", 100, {100});
  RunStore store(home());
  QCOMPARE(store.runs().size(), std::size_t{1});
  QCOMPARE(store.recovery_note().sentence(),
           std::string("The run list was missing and has been made anew. 1 run was found in its "
                       "folder and entered again; its conversations are lost."));
  QVERIFY(set_aside_files(home()).empty());
}

void TestStoreRecovery::empty_file_is_a_new_one() {
  write_file_atomically(file(), "");
  RunStore store(home());
  QVERIFY(store.recovery_note().empty());
  QVERIFY(set_aside_files(home()).empty());
  QCOMPARE(store.create_run(sample_run("First")), std::int64_t{1});
}

void TestStoreRecovery::newer_version_is_refused() {
  { const RunStore store(home()); }
  {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA user_version = 1000");
  }
  ATHANOR_EXPECT_ERROR(RunStore{home()}, ErrorKind::unsupported, "newer Athanor");
  ATHANOR_EXPECT_ERROR(RunStore{home()}, ErrorKind::unsupported, file().string());
  QVERIFY(set_aside_files(home()).empty());
}

void TestStoreRecovery::old_versions_are_migrated_data() {
  QTest::addColumn<std::string>("name");
  QTest::newRow("1") << std::string("run_store_version_1.sql");
  QTest::newRow("2") << std::string("run_store_version_2.sql");
}

void TestStoreRecovery::old_versions_are_migrated() {
  QFETCH(const std::string, name);
  const fs::path script =
      fs::path(qgetenv("ATHANOR_SOURCE_DIR").toStdString()) / "tests/golden" / name;
  {
    SQLite::Database database(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(read_small_file(script));
  }
  RunStore store(home());
  QVERIFY(store.recovery_note().empty());
  const RunRecord record = store.run(5).value();
  QCOMPARE(record.name, std::string("An old run"));
  QVERIFY(record.status == RunStatus::finished);
  QCOMPARE(record.validation_loss.value_or(0), 2.25);
  QVERIFY(!record.loss.has_value());
  QCOMPARE(store.metrics(5).size(), std::size_t{2});
  QVERIFY(std::isnan(store.metrics(5)[1].loss));
  QCOMPARE(store.events(5).at(0).text, std::string("All steps done"));
  QCOMPARE(store.checkpoints(5).at(0).path, std::string("/somewhere/step-00000002"));
  QVERIFY(!store.rehearsal(5).has_value());
  store.append(5, RehearsalRow{.planned_bytes = 4096, .taken_bytes = 4096});
  QCOMPARE(store.rehearsal(5).value().taken_bytes, std::int64_t{4096});
  const std::int64_t conversation = store.create_conversation({.run_id = 5, .title = "New"});
  QCOMPARE(store.conversations().at(0).id, conversation);
  QCOMPARE(store.create_run(sample_run("Next")), std::int64_t{6});
}

void TestStoreRecovery::impossible_homes_are_refused() {
  const fs::path text = home() / "a file";
  write_file_atomically(text, "text");
  ATHANOR_EXPECT_ERROR(RunStore{text}, ErrorKind::io, text.string());
  ATHANOR_EXPECT_ERROR(RunStore{text / "inside"}, ErrorKind::io, text.string());
  create_folders(home() / "b" / "athanor.db");
  ATHANOR_EXPECT_ERROR(RunStore{home() / "b"}, ErrorKind::io, "athanor.db");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestStoreRecovery)
#include "test_store_recovery.moc"
