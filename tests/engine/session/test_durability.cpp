// SPDX-License-Identifier: GPL-3.0-or-later
#include <sys/mount.h>
#include <unistd.h>

#include <QtTest/QtTest>
#include <algorithm>

#include "engine/base/json.h"
#include "engine/session/disk_usage.h"
#include "engine/session/take_over.h"
#include "engine/session/training_session.h"
#include "engine/store/curve_files.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {

namespace fs = std::filesystem;

/// Going back, moving, full disks: nothing of a run is lost.
class TestDurability : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void goes_on_from_an_older_checkpoint();
  void a_moved_run_goes_on_where_it_arrives();
  void what_is_no_run_is_not_taken_over();
  void curves_outlive_the_database();
  void a_history_cut_off_is_read_as_far_as_it_goes();
  void a_disk_without_room_for_a_checkpoint_is_refused_before_the_start();
  void a_disk_that_fills_up_is_told();
  void what_may_go_is_measured_and_goes();

 private:
  RunSpec tiny_spec(std::int64_t steps) const;
  SessionEnd run_until(const fs::path& home, std::int64_t steps, std::int64_t stop_at) const;
  static std::string weights_of(const fs::path& home, std::int64_t run, std::int64_t step);

  std::unique_ptr<QTemporaryDir> folder_;
  fs::path home_;
};

void TestDurability::init() {
  folder_ = std::make_unique<QTemporaryDir>();
  home_ = folder_->filePath("home").toStdString();
  write_file_atomically(folder_->filePath("text.txt").toStdString(), tiny_text(40'000));
}

RunSpec TestDurability::tiny_spec(std::int64_t steps) const {
  return {.name = "Tiny",
          .preset = "",
          .sources = {{.path = folder_->filePath("text.txt").toStdString()}},
          .model = tiny_model(),
          .train = tiny_train(steps)};
}

SessionEnd TestDurability::run_until(const fs::path& home, std::int64_t steps,
                                     std::int64_t stop_at) const {
  TrainControl control;
  Listener listener;
  listener.at_step = [&](std::int64_t at) {
    if (at == stop_at) control.stop();
  };
  return TrainingSession(home).start(tiny_spec(steps), control, listener);
}

std::string TestDurability::weights_of(const fs::path& home, std::int64_t run, std::int64_t step) {
  const fs::path checkpoints = run_folder_in(home, run) / "checkpoints";
  for (const auto& entry : CheckpointFolder(checkpoints).list()) {
    if (entry.step == step) return read_small_file(entry.path / "weights.safetensors");
  }
  return "none";
}

void TestDurability::goes_on_from_an_older_checkpoint() {
  const SessionEnd whole = run_until(home_, 40, 0);
  const std::string expected = weights_of(home_, whole.record.id, 40);
  const std::int64_t run = run_until(home_, 40, 35).record.id;
  TrainControl control;
  Listener listener;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).resume(run, {.step = 25}, control, listener),
                       ErrorKind::not_found,
                       "has no checkpoint of step 25. Choose one of: 20, 30, 35.");
  const SessionEnd end = TrainingSession(home_).resume(run, {.step = 20}, control, listener);
  QVERIFY(end.record.status == RunStatus::finished);
  QCOMPARE(listener.started.first_step, 20);
  QVERIFY(weights_of(home_, run, 40) == expected);
  std::vector<std::int64_t> aside;
  for (const auto& entry : CheckpointFolder(run_folder_in(home_, run) / "abandoned-1").list())
    aside.push_back(entry.step);
  QCOMPARE(aside, (std::vector<std::int64_t>{30, 35}));
  const auto tails = RunStore(home_).abandoned_tails(run);
  QCOMPARE(tails.size(), 1U);
  QCOMPARE(tails.front().front().step, 21);
  QCOMPARE(tails.front().back().step, 35);
}

void TestDurability::a_moved_run_goes_on_where_it_arrives() {
  const SessionEnd whole = run_until(home_, 40, 0);
  const std::int64_t run = run_until(home_, 40, 25).record.id;
  const fs::path carried = folder_->filePath("stick").toStdString();
  fs::copy(run_folder_in(home_, run), carried, fs::copy_options::recursive);
  const std::string expected = weights_of(home_, whole.record.id, 40);
  const auto metrics = RunStore(home_).metrics(run);
  // Nothing of the old machine is left, not even the text.
  fs::remove_all(home_);
  QVERIFY(QFile::remove(folder_->filePath("text.txt")));

  const fs::path there = folder_->filePath("there").toStdString();
  std::int64_t copied = 0;
  const std::int64_t id =
      take_over_run(there, carried, CancelToken(),
                    [&](const std::string&, std::int64_t done, std::int64_t) { copied = done; });
  QVERIFY(copied > 0);
  QVERIFY(fs::exists(carried / "spec.json"));
  const RunRecord record = RunStore(there).run(id).value();
  QCOMPARE(record.name, std::string("Tiny"));
  QVERIFY(record.status == RunStatus::interrupted);
  QCOMPARE(record.step, 25);
  const auto arrived = RunStore(there).metrics(id);
  QCOMPARE(arrived.size(), metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i)
    QCOMPARE(arrived[i].loss, metrics[i].loss);
  QCOMPARE(RunStore(there).evaluations(id).size(), 3U);
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(there).resume(id, {}, control, listener);
  QVERIFY(end.record.status == RunStatus::finished);
  QVERIFY(weights_of(there, id, 40) == expected);
}

void TestDurability::what_is_no_run_is_not_taken_over() {
  const fs::path folder = folder_->filePath("no run").toStdString();
  create_folders(folder);
  const auto take = [&] { take_over_run(home_, folder, CancelToken(), {}); };
  ATHANOR_EXPECT_ERROR(take(), ErrorKind::damaged, "it has no spec.json");
  write_file_atomically(folder / "spec.json", "{ \"format\": 7");
  ATHANOR_EXPECT_ERROR(take(), ErrorKind::damaged, "spec.json");
  const std::int64_t run = run_until(home_, 20, 15).record.id;
  {
    const RunLock lock(run_folder_in(home_, run));
    ATHANOR_EXPECT_ERROR(take_over_run(home_, run_folder_in(home_, run), CancelToken(), {}),
                         ErrorKind::busy, "is being trained just now");
  }
  CancelToken cancelled;
  cancelled.request();
  QVERIFY_THROWS_EXCEPTION(Cancelled,
                           take_over_run(home_, run_folder_in(home_, run), cancelled, {}));
  QCOMPARE(RunStore(home_).runs().size(), 1U);
  QCOMPARE(std::distance(fs::directory_iterator(home_ / "runs"), fs::directory_iterator()), 1);
}

void TestDurability::curves_outlive_the_database() {
  const std::int64_t run = run_until(home_, 40, 25).record.id;
  const auto metrics = RunStore(home_).metrics(run);
  const auto evaluations = RunStore(home_).evaluations(run);
  for (const char* file : {"athanor.db", "athanor.db-wal", "athanor.db-shm"})
    fs::remove(home_ / file);
  RunStore store(home_);
  const auto found = store.metrics(run);
  QCOMPARE(found.size(), metrics.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    QCOMPARE(found[i].loss, metrics[i].loss);
    QCOMPARE(found[i].seconds, metrics[i].seconds);
  }
  QCOMPARE(store.evaluations(run).size(), evaluations.size());
  QCOMPARE(store.evaluations(run).back().loss, evaluations.back().loss);
  const auto checkpoints = store.checkpoints(run);
  QVERIFY(checkpoints.back().validation_loss);
  QCOMPARE(std::ranges::count_if(checkpoints, &CheckpointRow::best), 1);
}

void TestDurability::a_history_cut_off_is_read_as_far_as_it_goes() {
  const fs::path folder = folder_->path().toStdString();
  const CurveFiles history(folder);
  QVERIFY(history.metrics().empty());
  history.append(std::vector<MetricRow>{{.step = 1, .loss = 5}, {.step = 2, .loss = 4}});
  history.append(std::vector<MetricRow>{{.step = 3, .loss = 3.5}});
  fs::resize_file(folder / "metrics.csv", fs::file_size(folder / "metrics.csv") - 3);
  QCOMPARE(history.metrics().size(), 2U);
  // Went on from step 1, behind the line that was cut off.
  history.append(std::vector<MetricRow>{{.step = 2, .loss = 4.25}});
  const auto rows = history.metrics();
  QCOMPARE(rows.size(), 2U);
  QCOMPARE(rows.back().loss, 4.25);
  std::string text = read_small_file(folder / "metrics.csv");
  write_file_atomically(folder / "metrics.csv", text + "x,y\n,,,,,,\n9,1,2\n" + text.substr(70));
  QCOMPARE(history.metrics().back().loss, 4.25);
}

namespace {

/// A small disk of its own, as far as this user may mount one.
class SmallDisk {
 public:
  SmallDisk(const fs::path& place, const char* options) : place_(place) {
    create_folders(place);
    mounted_ = ::mount("tmpfs", place.c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  fs::path place_;
  bool mounted_ = false;
};

}  // namespace

void TestDurability::a_disk_without_room_for_a_checkpoint_is_refused_before_the_start() {
  const SmallDisk disk(home_, "size=900k");
  if (!disk.mounted()) QSKIP("a small disk cannot be mounted here");
  TrainControl control;
  Listener listener;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).start(tiny_spec(20), control, listener),
                       ErrorKind::io, "There is too little room to save a checkpoint in ");
  QVERIFY(RunStore(home_).runs().empty());
}

void TestDurability::a_disk_that_fills_up_is_told() {
  const SmallDisk disk(home_, "size=6m");
  if (!disk.mounted()) QSKIP("a small disk cannot be mounted here");
  TrainControl control;
  Listener listener;
  const fs::path filler = home_ / "filler";
  listener.at_step = [&](std::int64_t step) {
    if (step != 12) return;
    AtomicFile file(filler);
    file.write(std::string(static_cast<std::size_t>(free_disk_bytes(home_)) - (1200 << 10), 'x'));
    file.commit();
  };
  const SessionEnd end = TrainingSession(home_).start(tiny_spec(40), control, listener);
  QVERIFY(std::ranges::any_of(listener.notices, [](const Notice& notice) {
    return notice.title == "The disk is nearly full" || notice.title.ends_with("was not saved");
  }));
  fs::remove(filler);
  if (end.record.status != RunStatus::finished) {
    Listener rest;
    const SessionEnd resumed = TrainingSession(home_).resume(end.record.id, {}, control, rest);
    QVERIFY(resumed.record.status == RunStatus::finished);
  }
}

void TestDurability::what_may_go_is_measured_and_goes() {
  const std::int64_t run = run_until(home_, 40, 35).record.id;
  {
    TrainControl control;
    Listener listener;
    TrainingSession(home_).resume(run, {.step = 20}, control, listener);
  }
  create_folders(home_ / "data/unused");
  write_file_atomically(home_ / "data/unused/train.tokens", std::string(1000, 'x'));
  RunStore store(home_);
  const DiskUsage before = measure_disk_usage(store, CancelToken());
  QCOMPARE(before.runs.size(), 1U);
  QCOMPARE(before.unused_data_bytes, 1000);
  QVERIFY(before.runs[0].abandoned_bytes > 0 && before.runs[0].older_bytes > 0);
  QVERIFY(before.runs[0].older_bytes < before.runs[0].checkpoint_bytes);
  {
    const RunLock lock(store.run_folder(run));
    ATHANOR_EXPECT_ERROR(remove_older_checkpoints(store, run), ErrorKind::busy, "Stop it first");
  }
  QCOMPARE(remove_older_checkpoints(store, run), before.runs[0].older_bytes);
  QCOMPARE(remove_abandoned_checkpoints(store, run), before.runs[0].abandoned_bytes);
  QCOMPARE(remove_unused_data(store), 1000);
  const DiskUsage after = measure_disk_usage(store, CancelToken());
  QCOMPARE(after.unused_data_bytes + after.runs[0].older_bytes + after.runs[0].abandoned_bytes, 0);
  QVERIFY(after.data_bytes > 0);
  const auto left = store.checkpoints(run);
  QVERIFY(left.back().step == 40 && left.size() <= 2);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestDurability)
#include "test_durability.moc"
