// SPDX-License-Identifier: GPL-3.0-or-later
#include <SQLiteCpp/Database.h>
#include <unistd.h>
#include <QtTest/QtTest>

#include <filesystem>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/store/run_store.h"
#include "tests/engine/store/child_process.h"
#include "tests/engine/store/sample_runs.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

void hold_run(const std::filesystem::path& folder, const std::function<void()>& ready) {
  const RunLock lock(folder);
  ready();
  ::sleep(60);
}

void hold_database(const std::filesystem::path& file, const std::function<void()>& ready) {
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("BEGIN EXCLUSIVE");
  ready();
  ::sleep(60);
}

void append_much(const std::filesystem::path& home, const std::string& name) {
  RunStore store(home);
  const std::int64_t id = store.create_run(sample_run(name));
  for (std::int64_t batch = 0; batch < 100; ++batch) {
    store.append(id, sample_metrics(10 * batch + 1, 10 * batch + 10));
    store.append(id, EventRow{.step = batch, .kind = "k", .text = name});
  }
}

}  // namespace

/// Several processes with one store: who trains what, who waits for whom.
class TestStoreProcesses : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void run_of_a_killed_process_is_interrupted_data();
  void run_of_a_killed_process_is_interrupted();
  void run_is_locked_once();
  void locked_database_is_busy_data();
  void locked_database_is_busy();
  void short_wait_is_not_an_error();
  void two_processes_append_at_once();
  void two_processes_find_the_same_damage();

 private:
  std::filesystem::path home() const { return home_->path().toStdString(); }

  std::unique_ptr<QTemporaryDir> home_;
};

void TestStoreProcesses::init() {
  home_ = std::make_unique<QTemporaryDir>();
}

void TestStoreProcesses::run_of_a_killed_process_is_interrupted_data() {
  QTest::addColumn<int>("status");
  QTest::addColumn<std::string>("problem");
  QTest::addColumn<bool>("interrupted");
  const auto row = [](const char* name, RunStatus status, const char* problem, bool interrupted) {
    QTest::newRow(name) << static_cast<int>(status) << std::string(problem) << interrupted;
  };
  row("preparing", RunStatus::preparing, "", true);
  row("running", RunStatus::running, "", true);
  row("paused by hand", RunStatus::paused, "", true);
  row("paused by itself", RunStatus::paused, "The loss is not a number.", false);
  row("finished", RunStatus::finished, "", false);
  row("failed", RunStatus::failed, "The disk is full.", false);
  row("stopped", RunStatus::stopped, "", false);
}

void TestStoreProcesses::run_of_a_killed_process_is_interrupted() {
  QFETCH(const int, status);
  QFETCH(const std::string, problem);
  QFETCH(const bool, interrupted);
  RunStore store(home());
  RunRecord record = sample_run("a", static_cast<RunStatus>(status));
  record.problem = problem;
  record.id = store.create_run(record);
  const std::filesystem::path folder = store.run_folder(record.id);
  ChildProcess child([&](const auto& ready) { hold_run(folder, ready); });
  QVERIFY(child.wait_until_ready());
  QVERIFY(RunLock::held_by_anyone(folder));
  QVERIFY(store.mark_interrupted().empty());
  QCOMPARE(static_cast<int>(store.run(record.id).value().status), status);

  child.kill();
  QCOMPARE(child.wait_for_end(), -1);
  QVERIFY(!RunLock::held_by_anyone(folder));
  const std::vector<std::int64_t> expected =
      interrupted ? std::vector<std::int64_t>{record.id} : std::vector<std::int64_t>{};
  QCOMPARE(store.mark_interrupted(), expected);
  const RunStatus now = store.run(record.id).value().status;
  QCOMPARE(static_cast<int>(now), interrupted ? static_cast<int>(RunStatus::interrupted) : status);
  QVERIFY(store.mark_interrupted().empty());
}

void TestStoreProcesses::run_is_locked_once() {
  const std::filesystem::path folder = home() / "runs" / "000001";
  QVERIFY(!RunLock::held_by_anyone(folder));
  {
    const RunLock lock(folder);
    QVERIFY(RunLock::held_by_anyone(folder));
    ATHANOR_EXPECT_ERROR(RunLock{folder}, ErrorKind::busy, folder.string());
    QVERIFY(RunLock::held_by_anyone(folder));
  }
  QVERIFY(!RunLock::held_by_anyone(folder));
  const RunLock again(folder);
}

void TestStoreProcesses::locked_database_is_busy_data() {
  QTest::addColumn<bool>("is_new");
  QTest::newRow("while opening a new one") << true;
  QTest::newRow("while writing") << false;
}

void TestStoreProcesses::locked_database_is_busy() {
  QFETCH(const bool, is_new);
  const std::filesystem::path file = home() / "athanor.db";
  std::unique_ptr<RunStore> store;
  if (!is_new) store = std::make_unique<RunStore>(home());
  ChildProcess child([&](const auto& ready) { hold_database(file, ready); });
  QVERIFY(child.wait_until_ready());
  const Stopwatch waited;
  const std::string sentence =
      "Another program is using Athanor's run list (" + file.string() + ")";
  if (is_new) {
    ATHANOR_EXPECT_ERROR(RunStore{home()}, ErrorKind::busy, sentence);
  } else {
    ATHANOR_EXPECT_ERROR(store->create_run(sample_run("a")), ErrorKind::busy, sentence);
    QVERIFY(store->runs().empty());
  }
  QVERIFY2(waited.seconds() > 4.5 && waited.seconds() < 12, "it waits for about 5 s");
  child.kill();
  child.wait_for_end();
  if (is_new) store = std::make_unique<RunStore>(home());
  QVERIFY(store->create_run(sample_run("a")) > 0);
  QVERIFY(store->recovery_note().empty());
}

void TestStoreProcesses::short_wait_is_not_an_error() {
  RunStore store(home());
  ChildProcess child([&](const auto& ready) {
    SQLite::Database database((home() / "athanor.db").string(), SQLite::OPEN_READWRITE);
    database.exec("BEGIN EXCLUSIVE");
    ready();
    ::usleep(300'000);
    database.exec("COMMIT");
  });
  QVERIFY(child.wait_until_ready());
  QVERIFY(store.create_run(sample_run("a")) > 0);
  QCOMPARE(child.wait_for_end(), 0);
}

void TestStoreProcesses::two_processes_append_at_once() {
  const auto body = [&](const std::string& name) {
    return [this, name](const auto&) { append_much(home(), name); };
  };
  ChildProcess a(body("a"));
  ChildProcess b(body("b"));
  QCOMPARE(a.wait_for_end(), 0);
  QCOMPARE(b.wait_for_end(), 0);
  const RunStore store(home());
  QVERIFY(store.recovery_note().empty());
  const auto records = store.runs();
  QCOMPARE(records.size(), std::size_t{2});
  for (const RunRecord& record : records) {
    QCOMPARE(store.metrics(record.id).size(), std::size_t{1000});
    const auto events = store.events(record.id);
    QCOMPARE(events.size(), std::size_t{100});
    for (const EventRow& event : events)
      QCOMPARE(event.text, record.name);
  }
}

void TestStoreProcesses::two_processes_find_the_same_damage() {
  write_file_atomically(home() / "athanor.db", std::string(9000, 'x'));
  make_run_folder(home(), 3, "Kept", 100, {50});
  const auto body = [&](const auto&) { RunStore(home()).create_run(sample_run("new")); };
  ChildProcess a(body);
  ChildProcess b(body);
  QCOMPARE(a.wait_for_end(), 0);
  QCOMPARE(b.wait_for_end(), 0);
  QCOMPARE(RunStore(home()).runs().size(), std::size_t{3});
  int set_aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(home())) {
    if (entry.path().filename().string().starts_with("athanor.db.damaged-")) ++set_aside;
  }
  QCOMPARE(set_aside, 1);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestStoreProcesses)
#include "test_store_processes.moc"
