// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/base/checksum.h"
#include "engine/base/clock.h"
#include "engine/base/machine.h"
#include "engine/base/paths.h"
#include "engine/base/philox.h"
#include "engine/base/thread_pool.h"
#include "tests/support/expect_error.h"

namespace athanor {

/// Random numbers, threads, checksums and what the machine tells.
class TestBase : public QObject {
  Q_OBJECT

 private slots:
  void philox_gives_the_published_numbers_data();
  void philox_gives_the_published_numbers();
  void philox_words_are_the_blocks_words();
  void uniform_and_normal_have_their_moments();
  void pool_runs_every_task_once_data();
  void pool_runs_every_task_once();
  void pool_serves_many_short_calls();
  void pool_takes_the_affinity_mask_by_default();
  void cancelling_throws_where_asked();
  void checksum_gives_the_published_numbers();
  void machine_values_are_plausible();
  void home_follows_the_environment();
};

void TestBase::philox_gives_the_published_numbers_data() {
  QTest::addColumn<quint64>("counter");
  QTest::addColumn<quint64>("stream");
  QTest::addColumn<quint64>("key");
  QTest::addColumn<QList<quint32>>("words");
  QTest::newRow("all zero") << quint64{0} << quint64{0} << quint64{0}
                            << QList<quint32>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8};
  QTest::newRow("all ones") << ~quint64{0} << ~quint64{0} << ~quint64{0}
                            << QList<quint32>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD};
  // Digits of pi, as in the known answers of the authors' own library.
  QTest::newRow("digits of pi") << 0x85A308D3243F6A88ULL << 0x0370734413198A2EULL
                                << 0x299F31D0A4093822ULL
                                << QList<quint32>{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1};
}

void TestBase::philox_gives_the_published_numbers() {
  QFETCH(const quint64, counter);
  QFETCH(const quint64, stream);
  QFETCH(const quint64, key);
  QFETCH(const QList<quint32>, words);
  const Philox::Block block = Philox(key, stream).block(counter);
  for (int i = 0; i < 4; ++i)
    QCOMPARE(block[static_cast<std::size_t>(i)], words[i]);
}

void TestBase::philox_words_are_the_blocks_words() {
  const Philox random(7, 3);
  for (std::uint64_t i = 0; i < 40; ++i)
    QCOMPARE(random.word(i), random.block(i / 4)[i % 4]);
  QVERIFY(random.word(5) != Philox(7, 4).word(5));
  QVERIFY(random.word(5) != Philox(8, 3).word(5));
}

void TestBase::uniform_and_normal_have_their_moments() {
  constexpr int kCount = 100000;
  const Philox random(1, 2);
  double uniform_sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const float uniform = random.uniform(i);
    QVERIFY(uniform >= 0 && uniform < 1);
    uniform_sum += uniform;
    const double normal = random.normal(i);
    normal_sum += normal;
    normal_squares += normal * normal;
  }
  // Five standard deviations of each mean.
  const double root = std::sqrt(static_cast<double>(kCount));
  QVERIFY(std::abs(uniform_sum / kCount - 0.5) < 5 * std::sqrt(1.0 / 12) / root);
  QVERIFY(std::abs(normal_sum / kCount) < 5 / root);
  QVERIFY(std::abs(normal_squares / kCount - 1) < 5 * std::sqrt(2.0) / root);
}

void TestBase::pool_runs_every_task_once_data() {
  QTest::addColumn<int>("threads");
  QTest::addColumn<int>("tasks");
  for (const int threads : {1, 2, 3, 8}) {
    for (const int tasks : {0, 1, 2, 7, 1000}) {
      QTest::addRow("%d threads, %d tasks", threads, tasks) << threads << tasks;
    }
  }
}

void TestBase::pool_runs_every_task_once() {
  QFETCH(const int, threads);
  QFETCH(const int, tasks);
  ThreadPool pool(threads);
  QCOMPARE(pool.threads(), threads);
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
  pool.parallel_for(tasks, [&](std::int64_t task) { ++runs[static_cast<std::size_t>(task)]; });
  for (const std::atomic<int>& count : runs)
    QCOMPARE(count.load(), 1);
}

void TestBase::pool_serves_many_short_calls() {
  constexpr int kCalls = 2000;
  constexpr std::int64_t kTasks = 5;
  ThreadPool pool(3);
  // Plain numbers: a call that returned early, or ran over into the next, would lose some of them.
  std::vector<int> sums(kTasks, 0);
  for (int call = 0; call < kCalls; ++call) {
    pool.parallel_for(kTasks, [&](std::int64_t task) { ++sums[static_cast<std::size_t>(task)]; });
  }
  for (const int sum : sums)
    QCOMPARE(sum, kCalls);
}

void TestBase::pool_takes_the_affinity_mask_by_default() {
  QVERIFY(ThreadPool::default_threads() >= 1);
  QCOMPARE(ThreadPool().threads(), ThreadPool::default_threads());
}

void TestBase::cancelling_throws_where_asked() {
  CancelToken token;
  token.throw_if_requested();
  token.request();
  QVERIFY(token.requested());
  QVERIFY_EXCEPTION_THROWN(token.throw_if_requested(), Cancelled);
  token.reset();
  token.throw_if_requested();
}

void TestBase::checksum_gives_the_published_numbers() {
  // XXH3_64bits of nothing, from the reference implementation.
  QCOMPARE(checksum({}), 0x2D06800538D394C2ULL);
  QCOMPARE(checksum_text(0x2D06800538D394C2ULL), std::string("2d06800538d394c2"));
  QCOMPARE(checksum_text(1), std::string("0000000000000001"));
  std::vector<std::byte> bytes(5000, std::byte{7});
  const std::uint64_t before = checksum(bytes);
  bytes[4321] ^= std::byte{1};
  QVERIFY(checksum(bytes) != before);
}

void TestBase::machine_values_are_plausible() {
  QVERIFY(!processor_name().empty());
  QVERIFY(total_memory_bytes() > std::int64_t{64} << 20);
  QVERIFY(available_memory_bytes() > 0);
  QVERIFY(available_memory_bytes() <= total_memory_bytes());
  // The system's counters of pages lag by some on each core.
  constexpr std::int64_t kLag_bytes = 8 << 20;
  const std::int64_t before = resident_bytes();
  QVERIFY(before > 0);
  std::vector<char> touched(std::size_t{32} << 20, 1);
  QVERIFY(touched.back() == 1);
  QVERIFY(resident_bytes() >= before + (32 << 20) - kLag_bytes);
  QVERIFY(peak_resident_bytes() >= before + (32 << 20) - kLag_bytes);
  QVERIFY(now_ms() > 1'600'000'000'000);
  QVERIFY(Stopwatch().seconds() >= 0);
}

void TestBase::home_follows_the_environment() {
  const QByteArray athanor_before = qgetenv("ATHANOR_HOME");
  const QByteArray data_before = qgetenv("XDG_DATA_HOME");
  qputenv("ATHANOR_HOME", "/somewhere/of/its/own");
  QCOMPARE(default_home().string(), std::string("/somewhere/of/its/own"));
  qunsetenv("ATHANOR_HOME");
  qputenv("XDG_DATA_HOME", "/data");
  QCOMPARE(default_home().string(), std::string("/data/athanor"));
  qunsetenv("XDG_DATA_HOME");
  QVERIFY(QString::fromStdString(default_home().string()).endsWith(".local/share/athanor"));
  if (!athanor_before.isEmpty()) qputenv("ATHANOR_HOME", athanor_before);
  if (!data_before.isEmpty()) qputenv("XDG_DATA_HOME", data_before);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestBase)
#include "test_base.moc"
