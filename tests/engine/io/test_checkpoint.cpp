// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/io/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/file_size_limit.h"

using namespace athanor;

namespace fs = std::filesystem;

namespace {

const char* const kFiles[] = {"weights.safetensors", "optimizer.safetensors", "state.json",
                              "checkpoint.json"};

}  // namespace

class TestCheckpoint : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  CheckpointFolder checkpoints() const {
    return CheckpointFolder(fs::path(folder_->path().toStdString()) / "checkpoints");
  }

  static fs::path save(const CheckpointFolder& folder, std::int64_t step, float value,
                       std::int64_t elements = 4) {
    std::vector<float> weights(static_cast<std::size_t>(elements), value);
    std::vector<float> moments(weights.size(), -value);
    const Shape shape{elements};
    const std::vector<NamedTensor> w{
        {"w", {reinterpret_cast<std::byte*>(weights.data()), DType::f32, shape}}};
    const std::vector<NamedTensor> m{
        {"m", {reinterpret_cast<std::byte*>(moments.data()), DType::f32, shape}}};
    return folder.save(
        {.step = step, .weights = w, .optimizer = m, .state = Json{{"value", value}}});
  }

  static std::vector<std::int64_t> steps(const CheckpointFolder& folder) {
    std::vector<std::int64_t> found;
    for (const CheckpointFolder::Entry& entry : folder.list())
      found.push_back(entry.step);
    return found;
  }

  static float value_of(const CheckpointFolder::Loaded& loaded) {
    return loaded.weights.find("w", DType::f32, {4}).as<float>()[0];
  }

  static qsizetype entries_in(const fs::path& folder) {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  /// The newest is damaged: it is named and the one before is taken.
  void expect_fallback(const std::string& part) const {
    std::vector<std::string> problems;
    const CheckpointFolder::Loaded loaded = checkpoints().load_newest(true, problems);
    QCOMPARE(loaded.step, 10);
    QCOMPARE(value_of(loaded), 1.0F);
    QCOMPARE(problems.size(), std::size_t{1});
    QVERIFY2(problems[0].find(part) != std::string::npos, problems[0].c_str());
    QVERIFY2(problems[0].starts_with("The checkpoint of step ") &&
                 problems[0].ends_with("), so the one of step 10 is used. The damaged folder can "
                                       "be deleted."),
             problems[0].c_str());
  }

 private slots:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void saves_and_loads() {
    QVERIFY(checkpoints().list().empty());
    const fs::path place = save(checkpoints(), 120, 2.5F);
    QCOMPARE(place.filename().string(), std::string("step-00000120"));
    const CheckpointFolder::Loaded loaded = CheckpointFolder::load(place, true);
    QCOMPARE(loaded.step, 120);
    QCOMPARE(loaded.path, place);
    QCOMPARE(value_of(loaded), 2.5F);
    QVERIFY(loaded.optimizer &&
            loaded.optimizer->find("m", DType::f32, {4}).as<float>()[3] == -2.5F);
    QCOMPARE(loaded.state->at("value").get<float>(), 2.5F);
    QVERIFY(!CheckpointFolder::load(place, false).optimizer);
    save(checkpoints(), 1'234'567'890, 1.0F);
    QCOMPARE(steps(checkpoints()), (std::vector<std::int64_t>{120, 1'234'567'890}));
  }

  void the_same_step_is_replaced() {
    save(checkpoints(), 10, 1.0F);
    QCOMPARE(value_of(CheckpointFolder::load(save(checkpoints(), 10, 2.0F), true)), 2.0F);
    QCOMPARE(entries_in(checkpoints().root()), 1);
  }

  void damage_falls_back_data() {
    QTest::addColumn<QByteArray>("file");
    QTest::addColumn<QByteArray>("damage");
    for (const char* const file : kFiles) {
      for (const char* const damage : {"flip", "cut", "empty", "missing", "garbage"}) {
        QTest::addRow("%s in %s", damage, file) << QByteArray(file) << QByteArray(damage);
      }
    }
  }
  void damage_falls_back() {
    QFETCH(QByteArray, file);
    QFETCH(QByteArray, damage);
    save(checkpoints(), 10, 1.0F);
    const fs::path target = save(checkpoints(), 20, 2.0F) / file.toStdString();
    std::string bytes = read_small_file(target);
    // In the manifest a checksum's digit, elsewhere the middle.
    const std::size_t place = bytes.rfind("\"checksums\"");
    const std::size_t at =
        place == std::string::npos ? bytes.size() / 2 : bytes.find(": \"", place) + 5;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    if (damage == "cut") bytes.resize(bytes.size() - 3);
    if (damage == "empty") bytes.clear();
    if (damage == "garbage") bytes = "}{ no file";
    write_file_atomically(target, bytes);
    if (damage == "missing") fs::remove(target);
    const std::string finding =
        damage == "missing" ? " is missing" : " was cut off or changed after it was saved";
    // Against a changed checksum it is the file that looks changed.
    const bool checksum_changed = damage == "flip" && file == "checkpoint.json";
    expect_fallback("step-00000020/" +
                    (checksum_changed ? "weights.safetensors" : file.toStdString()) + finding);
  }

  void a_renamed_checkpoint_is_noticed() {
    save(checkpoints(), 10, 1.0F);
    const fs::path place = save(checkpoints(), 20, 2.0F);
    fs::rename(place, checkpoints().root() / "step-00000030");
    expect_fallback("another step");
  }

  void none_and_none_good_differ() {
    std::vector<std::string> problems;
    ATHANOR_EXPECT_ERROR(checkpoints().load_newest(true, problems), ErrorKind::not_found,
                         "checkpoints");
    ATHANOR_EXPECT_ERROR(CheckpointFolder::load("/nonexistent/step-00000001", true),
                         ErrorKind::not_found, "/nonexistent");
    for (const std::int64_t step : {1, 2}) {
      fs::remove(save(checkpoints(), step, 1.0F) / "state.json");
    }
    ATHANOR_EXPECT_ERROR(checkpoints().load_newest(true, problems), ErrorKind::damaged,
                         "None of the 2");
    QVERIFY(problems.empty());
  }

  void leftovers_are_not_listed_and_can_be_removed() {
    save(checkpoints(), 10, 1.0F);
    const fs::path root = checkpoints().root();
    fs::create_directories(root / "step-00000020.partial-123");
    fs::create_directories(root / "step-abc");
    fs::create_directories(root / "mine.partial-1");
    write_file_atomically(root / "step-00000030", "a file");
    QCOMPARE(steps(checkpoints()), std::vector<std::int64_t>{10});
    checkpoints().remove_partial();
    QVERIFY(!fs::exists(root / "step-00000020.partial-123"));
    QCOMPARE(entries_in(root), 4);
  }

  void pruning_keeps_the_newest_the_best_and_each_nth() {
    for (const std::int64_t step : {10, 20, 30, 40, 50, 60})
      save(checkpoints(), step, 1.0F);
    QCOMPARE(checkpoints().prune({.newest = 1, .latest = 50, .best = 10, .interval = 30}),
             (std::vector<std::int64_t>{20, 40}));
    QCOMPARE(steps(checkpoints()), (std::vector<std::int64_t>{10, 30, 50, 60}));
    QCOMPARE(entries_in(checkpoints().root()), 4);
    QVERIFY(checkpoints().prune({.newest = 5, .latest = {}, .best = {}}).empty());
  }

  void later_ones_are_set_aside_not_removed() {
    for (const std::int64_t step : {10, 20, 30})
      save(checkpoints(), step, static_cast<float>(step));
    QVERIFY(checkpoints().set_aside_after(30).empty());
    const fs::path aside = checkpoints().set_aside_after(10);
    QCOMPARE(aside.filename().string(), std::string("abandoned-1"));
    QCOMPARE(steps(checkpoints()), std::vector<std::int64_t>{10});
    QCOMPARE(steps(CheckpointFolder(aside)), (std::vector<std::int64_t>{20, 30}));
    QCOMPARE(value_of(CheckpointFolder::load(aside / "step-00000030", true)), 30.0F);
    save(checkpoints(), 20, 2.0F);
    QCOMPARE(checkpoints().set_aside_after(0).filename().string(), std::string("abandoned-2"));
  }

  void what_is_copied_is_there_only_once_it_is_finished() {
    std::vector<float> numbers(4, 1.0F);
    const std::vector<NamedTensor> w{
        {"w", {reinterpret_cast<std::byte*>(numbers.data()), DType::f32, {4}}}};
    const auto copied = [&] {
      return checkpoints().copy({.step = 10, .weights = w, .optimizer = {}, .state = Json()});
    };
    { const CheckpointFolder::Unsynced given_up = copied(); }
    QCOMPARE(entries_in(checkpoints().root()), 0);
    CheckpointFolder::Unsynced saved = copied();
    // What changes from here on is not in it.
    numbers.assign(4, 2.0F);
    QVERIFY(checkpoints().list().empty());
    const fs::path place = saved.finish();
    QCOMPARE(value_of(CheckpointFolder::load(place, true)), 1.0F);
    QVERIFY(!CheckpointFolder::load(place, false).validation_loss);
    checkpoints().note_validation(10, 3.25);
    QCOMPARE(CheckpointFolder::load(place, true).validation_loss.value_or(0), 3.25);
  }

  void a_full_disk_leaves_the_older_ones() {
    const fs::path place = save(checkpoints(), 10, 1.0F);
    for (const std::int64_t step : {10, 20}) {
      const FileSizeLimit limit(64 << 10);
      ATHANOR_EXPECT_ERROR(save(checkpoints(), step, 2.0F, 1 << 20), ErrorKind::io,
                           "weights.safetensors");
    }
    QCOMPARE(value_of(CheckpointFolder::load(place, true)), 1.0F);
    QCOMPARE(entries_in(checkpoints().root()), 1);
  }

  void too_little_room_is_seen_before_writing() {
    const fs::path place = save(checkpoints(), 10, 1.0F);
    // Only sizes are looked at: nothing of it is read.
    const std::vector<NamedTensor> vast{{"w", {nullptr, DType::f32, {std::int64_t{1} << 50}}}};
    ATHANOR_EXPECT_ERROR(
        checkpoints().save({.step = 20, .weights = vast, .optimizer = {}, .state = Json()}),
        ErrorKind::io, " MiB are free. Free some space on that disk.");
    QCOMPARE(steps(checkpoints()), std::vector<std::int64_t>{10});
    QCOMPARE(entries_in(checkpoints().root()), 1);
  }
};

QTEST_APPLESS_MAIN(TestCheckpoint)
#include "test_checkpoint.moc"
