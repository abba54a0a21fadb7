// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <limits>

#include "engine/base/clock.h"
#include "engine/store/run_store.h"
#include "tests/engine/store/sample_runs.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

/// What is written comes back as it was, from the same store and from one opened later.
class TestRunStore : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void run_comes_back();
  void run_without_values_comes_back();
  void every_status_comes_back();
  void update_leaves_name_creation_and_spec();
  void runs_are_listed_newest_first();
  void ids_are_not_given_twice();
  void values_that_are_not_finite_data();
  void values_that_are_not_finite();
  void rows_of_the_same_step_are_replaced();
  void metrics_can_be_read_from_a_step_on();
  void truncation_forgets_what_came_after();
  void only_one_checkpoint_is_best();
  void checkpoints_that_are_gone_are_forgotten();
  void events_and_conversations_come_back();
  void rehearsals_come_back();
  void measurements_come_back();
  void deleting_a_run_deletes_all_of_it();
  void unknown_runs_are_refused();
  void text_of_any_kind_comes_back();
  void million_rows();

 private:
  std::unique_ptr<RunStore> reopened() const {
    return std::make_unique<RunStore>(home_->path().toStdString());
  }

  std::unique_ptr<QTemporaryDir> home_;
};

void TestRunStore::init() {
  home_ = std::make_unique<QTemporaryDir>();
}

void TestRunStore::run_comes_back() {
  const RunRecord written = sample_run("First");
  const std::int64_t id = reopened()->create_run(written);
  const auto read = reopened()->run(id);
  QVERIFY(read.has_value());
  QCOMPARE(read->id, id);
  QCOMPARE(difference(*read, written), std::string());
}

void TestRunStore::run_without_values_comes_back() {
  RunRecord written = sample_run("No values yet");
  written.loss = written.validation_loss = written.best_validation_loss = {};
  written.tokens_per_second = {};
  const auto store = reopened();
  const auto read = store->run(store->create_run(written));
  QVERIFY(read.has_value());
  QCOMPARE(difference(*read, written), std::string());
}

void TestRunStore::every_status_comes_back() {
  const auto store = reopened();
  for (const RunStatus status :
       {RunStatus::preparing, RunStatus::running, RunStatus::paused, RunStatus::interrupted,
        RunStatus::finished, RunStatus::failed, RunStatus::stopped}) {
    const std::int64_t id = store->create_run(sample_run("Any", status));
    QCOMPARE(static_cast<int>(store->run(id).value().status), static_cast<int>(status));
  }
}

void TestRunStore::update_leaves_name_creation_and_spec() {
  const auto store = reopened();
  const RunRecord written = sample_run("First");
  RunRecord changed = written;
  changed.id = store->create_run(written);
  changed.name = "Other";
  changed.created_ms = 1;
  changed.spec = "{}";
  changed.status = RunStatus::failed;
  changed.problem = "The disk is full.";
  changed.step = 99;
  changed.loss = {};
  changed.peak_resident_bytes = 5;
  changed.device = "Another";
  store->update_run(changed);
  changed.name = written.name;
  changed.created_ms = written.created_ms;
  changed.spec = written.spec;
  QCOMPARE(difference(store->run(changed.id).value(), changed), std::string());
  store->describe(changed.id, {.name = "Renamed", .tags = "a, b", .notes = "Kept."});
  QCOMPARE(store->run(changed.id).value().name, std::string("Renamed"));
}

void TestRunStore::runs_are_listed_newest_first() {
  const auto store = reopened();
  QVERIFY(store->runs().empty());
  for (const char* name : {"a", "b", "c"})
    store->create_run(sample_run(name));
  std::string names;
  for (const RunRecord& record : store->runs())
    names += record.name;
  QCOMPARE(names, std::string("cba"));
}

void TestRunStore::ids_are_not_given_twice() {
  const auto store = reopened();
  const std::int64_t first = store->create_run(sample_run("a"));
  store->delete_run(first);
  QCOMPARE(store->create_run(sample_run("b")), first + 1);
  QCOMPARE(store->run_folder(17), store->home() / "runs" / "000017");
}

void TestRunStore::values_that_are_not_finite_data() {
  QTest::addColumn<double>("value");
  QTest::newRow("not a number") << kNan;
  QTest::newRow("infinity") << kInfinity;
  QTest::newRow("minus infinity") << -kInfinity;
  QTest::newRow("largest") << std::numeric_limits<double>::max();
  QTest::newRow("smallest") << std::numeric_limits<double>::denorm_min();
}

void TestRunStore::values_that_are_not_finite() {
  QFETCH(const double, value);
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  store->append(id, {MetricRow{.step = 1, .loss = value, .gradient_norm = value}});
  store->append(id, EvaluationRow{.step = 1, .loss = value, .bits_per_byte = value});
  const MetricRow metric = reopened()->metrics(id).at(0);
  QVERIFY(same(metric.loss, value) && same(metric.gradient_norm, value));
  QCOMPARE(metric.learning_rate, 0.0);
  const EvaluationRow evaluation = reopened()->evaluations(id).at(0);
  QVERIFY(same(evaluation.loss, value) && same(evaluation.bits_per_byte, value));
}

void TestRunStore::rows_of_the_same_step_are_replaced() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  store->append(id, sample_metrics(1, 10));
  store->append(id, {MetricRow{.step = 4, .loss = 44}, MetricRow{.step = 11, .loss = 11}});
  const auto rows = store->metrics(id);
  QCOMPARE(rows.size(), std::size_t{11});
  QCOMPARE(rows[3].loss, 44.0);
  QCOMPARE(rows[4].loss, 1.0);
  QCOMPARE(rows[10].step, std::int64_t{11});
  store->append(id, EvaluationRow{.step = 5, .loss = 1});
  store->append(id, EvaluationRow{.step = 5, .loss = 2});
  QCOMPARE(store->evaluations(id).size(), std::size_t{1});
  QCOMPARE(store->evaluations(id)[0].loss, 2.0);
}

void TestRunStore::metrics_can_be_read_from_a_step_on() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  const std::int64_t other = store->create_run(sample_run("b"));
  store->append(id, sample_metrics(1, 10));
  store->append(other, sample_metrics(1, 3));
  QCOMPARE(store->metrics(id, 7).size(), std::size_t{3});
  QCOMPARE(store->metrics(id, 7)[0].step, std::int64_t{8});
  const MetricRow row = store->metrics(other).at(2);
  QCOMPARE(row.tokens, std::int64_t{384});
  QCOMPARE(row.seconds, 1.5);
  QCOMPARE(row.learning_rate, 1e-3 / 3);
  QCOMPARE(row.gradient_norm, 1.0 + 1.0 / 3);
  QCOMPARE(row.tokens_per_second, 1003.0);
}

void TestRunStore::truncation_forgets_what_came_after() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  const std::int64_t other = store->create_run(sample_run("b"));
  for (const std::int64_t run : {id, other}) {
    store->append(run, sample_metrics(1, 10));
    for (const std::int64_t step : {5, 6, 10}) {
      store->append(run, EvaluationRow{.step = step});
      store->append(run, CheckpointRow{.step = step, .path = "p"});
      store->append(run, EventRow{.step = step, .kind = "k"});
    }
  }
  store->truncate_after(id, 5);
  QCOMPARE(store->metrics(id).size(), std::size_t{5});
  store->append(id, sample_metrics(6, 7));
  store->truncate_after(id, 6);
  store->truncate_after(id, 6);
  const auto tails = store->abandoned_tails(id);
  QCOMPARE(tails.size(), std::size_t{2});
  QCOMPARE(tails[0].size(), std::size_t{5});
  QCOMPARE(tails[0].front().step, std::int64_t{6});
  QCOMPARE(tails[1].size(), std::size_t{1});
  QCOMPARE(tails[1].front().loss, sample_metrics(7, 7).front().loss);
  QVERIFY(store->abandoned_tails(other).empty());
  QCOMPARE(store->evaluations(id).size(), std::size_t{1});
  QCOMPARE(store->checkpoints(id).size(), std::size_t{1});
  QCOMPARE(store->events(id).size(), std::size_t{3});
  QCOMPARE(store->metrics(other).size(), std::size_t{10});
  QCOMPARE(store->checkpoints(other).size(), std::size_t{3});
}

void TestRunStore::only_one_checkpoint_is_best() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  store->append(id, CheckpointRow{.step = 1, .path = "/1", .time_ms = 11, .best = true});
  store->append(id, CheckpointRow{.step = 2, .path = "/2", .validation_loss = 1.5, .best = true});
  store->append(id, CheckpointRow{.step = 3, .path = "/3", .validation_loss = 1.75});
  const auto rows = store->checkpoints(id);
  QCOMPARE(rows.size(), std::size_t{3});
  QVERIFY(!rows[0].best && rows[1].best && !rows[2].best);
  QCOMPARE(rows[0].path, std::string("/1"));
  QCOMPARE(rows[0].time_ms, std::int64_t{11});
  QVERIFY(!rows[0].validation_loss.has_value());
  QCOMPARE(rows[1].validation_loss.value_or(0), 1.5);
}

void TestRunStore::checkpoints_that_are_gone_are_forgotten() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  for (const std::int64_t step : {1, 2, 3, 4})
    store->append(id, CheckpointRow{.step = step});
  store->keep_checkpoints(id, {2, 4, 6});
  const auto rows = store->checkpoints(id);
  QCOMPARE(rows.size(), std::size_t{2});
  QCOMPARE(rows[0].step, std::int64_t{2});
  QCOMPARE(rows[1].step, std::int64_t{4});
  store->keep_checkpoints(id, {});
  QVERIFY(store->checkpoints(id).empty());
}

void TestRunStore::events_and_conversations_come_back() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  store->append(id, EventRow{.time_ms = 5, .step = 2, .kind = "paused", .text = "Paused by hand"});
  const EventRow event = reopened()->events(id).at(0);
  QCOMPARE(event.time_ms, std::int64_t{5});
  QCOMPARE(event.step, std::int64_t{2});
  QCOMPARE(event.kind, std::string("paused"));
  QCOMPARE(event.text, std::string("Paused by hand"));

  const ConversationRow row{
      .run_id = id, .checkpoint_step = 7, .created_ms = 9, .title = "Once upon a time"};
  const std::int64_t older = store->create_conversation(row);
  const std::int64_t newer = store->create_conversation(row);
  store->append(older, TurnRow{.role = "prompt", .text = "Once", .note = ""});
  store->append(older, TurnRow{.role = "answer", .text = " upon", .note = "1 token"});
  const auto conversations = reopened()->conversations();
  QCOMPARE(conversations.size(), std::size_t{2});
  QCOMPARE(conversations[0].id, newer);
  QCOMPARE(conversations[1].run_id, id);
  QCOMPARE(conversations[1].checkpoint_step, std::int64_t{7});
  QCOMPARE(conversations[1].created_ms, std::int64_t{9});
  QCOMPARE(conversations[1].title, row.title);
  const auto turns = reopened()->turns(older);
  QCOMPARE(turns.size(), std::size_t{2});
  QCOMPARE(turns[0].role, std::string("prompt"));
  QCOMPARE(turns[1].text, std::string(" upon"));
  QCOMPARE(turns[1].note, std::string("1 token"));
  QVERIFY(reopened()->turns(newer).empty());
}

void TestRunStore::measurements_come_back() {
  const std::int64_t id = reopened()->create_run({.name = "Measured"});
  QVERIFY(reopened()->measurements(id).empty());
  reopened()->append(id, MeasurementRow{.step = 100,
                                        .time_ms = 7,
                                        .kind = "answers",
                                        .file = "/data/questions.jsonl",
                                        .items = 90,
                                        .value = 0.9,
                                        .second_value = 0});
  reopened()->append(id, MeasurementRow{.step = 200, .kind = "perplexity", .value = 3.5});
  const std::vector<MeasurementRow> read = reopened()->measurements(id);
  QCOMPARE(read.size(), 2U);
  QCOMPARE(read[0].step, 100);
  QCOMPARE(read[0].time_ms, 7);
  QCOMPARE(read[0].kind, std::string("answers"));
  QCOMPARE(read[0].file, std::string("/data/questions.jsonl"));
  QCOMPARE(read[0].items, 90);
  QCOMPARE(read[0].value, 0.9);
  QCOMPARE(read[1].value, 3.5);
  // Another answer to the same question stands beside the first.
  reopened()->append(id, read[1]);
  QCOMPARE(reopened()->measurements(id).size(), 3U);
  reopened()->truncate_after(id, 150);
  QCOMPARE(reopened()->measurements(id).size(), 1U);
  reopened()->delete_run(id);
  QVERIFY(reopened()->measurements(id).empty());
}

void TestRunStore::rehearsals_come_back() {
  const std::int64_t id = reopened()->create_run(sample_run("Rehearsed"));
  QVERIFY(!reopened()->rehearsal(id).has_value());
  reopened()->append(id, RehearsalRow{.planned_bytes = 87'345'152,
                                      .taken_bytes = 87'345'152,
                                      .outside_bytes = 5'000'000,
                                      .predicted_tokens_per_second = 27'689.5,
                                      .tokens_per_second = 26'778.25,
                                      .step_seconds = 0.0765});
  const RehearsalRow read = reopened()->rehearsal(id).value();
  QCOMPARE(read.planned_bytes, std::int64_t{87'345'152});
  QCOMPARE(read.taken_bytes, std::int64_t{87'345'152});
  QCOMPARE(read.outside_bytes, std::int64_t{5'000'000});
  QCOMPARE(read.predicted_tokens_per_second.value(), 27'689.5);
  QCOMPARE(read.tokens_per_second, 26'778.25);
  QCOMPARE(read.step_seconds, 0.0765);
  // Of a machine that was not measured; the newer one counts.
  reopened()->append(id, RehearsalRow{.planned_bytes = 1, .tokens_per_second = 2});
  QVERIFY(!reopened()->rehearsal(id).value().predicted_tokens_per_second.has_value());
  QCOMPARE(reopened()->rehearsal(id).value().planned_bytes, std::int64_t{1});
  ATHANOR_EXPECT_ERROR(reopened()->append(id + 1, RehearsalRow()), ErrorKind::not_found, "run");
  reopened()->delete_run(id);
  QVERIFY(!reopened()->rehearsal(id).has_value());
}

void TestRunStore::deleting_a_run_deletes_all_of_it() {
  const auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("a"));
  store->append(id, sample_metrics(1, 3));
  store->append(id, EventRow{.kind = "k"});
  const std::int64_t conversation = store->create_conversation({.run_id = id});
  store->append(conversation, TurnRow{.role = "prompt"});
  store->delete_run(id);
  QVERIFY(!store->run(id).has_value());
  QVERIFY(store->metrics(id).empty() && store->events(id).empty());
  QVERIFY(store->conversations().empty() && store->turns(conversation).empty());
}

void TestRunStore::unknown_runs_are_refused() {
  const auto store = reopened();
  RunRecord unknown = sample_run("a");
  unknown.id = 12;
  QVERIFY(!store->run(12).has_value());
  ATHANOR_EXPECT_ERROR(store->update_run(unknown), ErrorKind::not_found, "no run 12");
  ATHANOR_EXPECT_ERROR(store->describe(12, {.name = "b", .tags = "", .notes = ""}),
                       ErrorKind::not_found, "no run 12");
  ATHANOR_EXPECT_ERROR(store->append(12, sample_metrics(1, 1)), ErrorKind::not_found, "deleted");
  ATHANOR_EXPECT_ERROR(store->create_conversation({.run_id = 12}), ErrorKind::not_found, "deleted");
}

void TestRunStore::text_of_any_kind_comes_back() {
  const auto store = reopened();
  const std::string text("Käse \xF0\x9F\xA7\x80 '; DROP TABLE runs; --\n\0 after a zero", 47);
  const std::int64_t id = store->create_run(sample_run(text));
  QCOMPARE(store->run(id).value().name, text);
}

void TestRunStore::million_rows() {
#ifdef ATHANOR_SANITIZED
  constexpr std::int64_t kRows = 20'000;
#else
  constexpr std::int64_t kRows = 1'000'000;
#endif
  constexpr std::int64_t kBatch = 1000;
  auto store = reopened();
  const std::int64_t id = store->create_run(sample_run("Long"));
  Stopwatch time;
  for (std::int64_t first = 1; first <= kRows; first += kBatch) {
    store->append(id, sample_metrics(first, first + kBatch - 1));
  }
  const double written_seconds = time.seconds();
  time = Stopwatch();
  const auto rows = store->metrics(id);
  const double read_seconds = time.seconds();
  store.reset();
  time = Stopwatch();
  store = reopened();
  qInfo("%lld rows: written in %.2f s, read in %.2f s, opened again in %.2f s",
        static_cast<long long>(kRows), written_seconds, read_seconds, time.seconds());
  QCOMPARE(static_cast<std::int64_t>(rows.size()), kRows);
  QCOMPARE(rows.back().step, kRows);
  QCOMPARE(rows[99].loss, 0.05);
  QVERIFY(store->metrics(id, kRows - 10).size() == 10);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestRunStore)
#include "test_run_store.moc"
