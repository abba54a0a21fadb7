// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <set>

#include "engine/data/batch_loader.h"
#include "tests/support/expect_error.h"

using namespace athanor;

namespace {

constexpr std::int32_t kEnd = 30000;

}  // namespace

class TestBatchLoader : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  /// Tokens 0, 1, 2 … in documents of `document` tokens, whose last is kEnd.
  TokenShard counting_shard(std::int32_t tokens, std::int32_t document) {
    const std::filesystem::path path = folder_.filePath("shard.tokens").toStdString();
    TokenShardWriter writer(path, kEnd + 1, 0);
    for (std::int32_t token = 0; token < tokens; ++token) {
      const std::int32_t id = token % document == document - 1 ? kEnd : token;
      writer.add_document({&id, 1});
    }
    writer.finish();
    return TokenShard::open(path);
  }

  static std::vector<std::int32_t> served(BatchLoader& loader, int batches, std::int64_t context) {
    std::vector<std::int32_t> tokens;
    HostBatch batch(3, context);
    for (int index = 0; index < batches; ++index) {
      loader.next(batch);
      tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
    }
    return tokens;
  }

 private slots:
  void an_epoch_visits_every_window_once_data() {
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("context");
    QTest::newRow("shortest") << 9 << 8;
    QTest::newRow("two windows") << 24 << 8;
    QTest::newRow("many") << 1003 << 8;
    QTest::newRow("context 1") << 50 << 1;
    QTest::newRow("power of four") << 8 * 65 << 8;
  }
  void an_epoch_visits_every_window_once() {
    QFETCH(int, tokens);
    QFETCH(int, context);
    const TokenShard shard = counting_shard(tokens, 1 << 20);
    BatchLoader loader(shard, kEnd, context, 11);
    HostBatch batch(1, context);
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<std::int32_t> starts;
      for (std::int64_t window = 0; window < loader.windows_per_epoch(); ++window) {
        loader.next(batch);
        QCOMPARE(batch.trained_tokens, context);
        for (int at = 0; at < context; ++at) {
          const auto index = static_cast<std::size_t>(at);
          QCOMPARE(batch.tokens[index], batch.tokens[0] + at);
          QCOMPARE(batch.targets[index], batch.tokens[0] + at + 1);
          QCOMPARE(batch.document_starts[index], 0);
        }
        starts.insert(batch.tokens[0]);
      }
      QCOMPARE(std::int64_t(starts.size()), loader.windows_per_epoch());
      for (const std::int32_t start : starts) {
        QCOMPARE(start % context, *starts.begin() % context);
      }
      QCOMPARE(loader.state().epoch, epoch);
    }
  }

  void epochs_and_seeds_differ_and_repeat() {
    const TokenShard shard = counting_shard(2000, 50);
    BatchLoader one(shard, kEnd, 16, 5);
    BatchLoader same(shard, kEnd, 16, 5);
    BatchLoader other(shard, kEnd, 16, 6);
    const std::vector<std::int32_t> tokens = served(one, 10, 16);
    QCOMPARE(served(same, 10, 16), tokens);
    QVERIFY(served(other, 10, 16) != tokens);
    one.restore({1, 0});
    QVERIFY(served(one, 10, 16) != tokens);
  }

  void restoring_goes_on_exactly() {
    const TokenShard shard = counting_shard(700, 50);
    BatchLoader loader(shard, kEnd, 16, 5);
    served(loader, 7, 16);
    const LoaderState state = loader.state();
    const std::vector<std::int32_t> rest = served(loader, 30, 16);
    BatchLoader resumed(shard, kEnd, 16, 5);
    resumed.restore(state);
    QCOMPARE(served(resumed, 30, 16), rest);
    QCOMPARE(resumed.state(), loader.state());
    QVERIFY(resumed.state().epoch > 0);
  }

  void documents_start_after_their_end_token() {
    const TokenShard shard = counting_shard(13, 4);
    EvaluationLoader loader(shard, kEnd, 12);
    HostBatch batch(1, 12);
    QVERIFY(loader.next(batch));
    QCOMPARE(batch.document_starts,
             (std::vector<std::int32_t>{0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8}));
    QCOMPARE(batch.targets[2], kEnd);
    QCOMPARE(batch.targets[3], 4);
  }

  void evaluation_gives_every_token_once_data() {
    QTest::addColumn<qint64>("limit");
    QTest::addColumn<int>("expected");
    QTest::newRow("all") << qint64{0} << 99;
    QTest::newRow("limited") << qint64{37} << 37;
    QTest::newRow("beyond") << qint64{1000} << 99;
  }
  void evaluation_gives_every_token_once() {
    QFETCH(qint64, limit);
    QFETCH(int, expected);
    const TokenShard shard = counting_shard(100, 1 << 20);
    EvaluationLoader loader(shard, kEnd, 8);
    loader.limit(limit);
    for (int pass = 0; pass < 2; ++pass) {
      HostBatch batch(3, 8);
      std::int32_t next = 1;
      while (loader.next(batch)) {
        std::int64_t trained = 0;
        for (std::size_t at = 0; at < batch.targets.size(); ++at) {
          QVERIFY(batch.document_starts[at] <= static_cast<std::int32_t>(at % 8));
          if (batch.targets[at] < 0) continue;
          QCOMPARE(batch.targets[at], next++);
          QCOMPARE(batch.tokens[at], batch.targets[at] - 1);
          ++trained;
        }
        QCOMPARE(batch.trained_tokens, trained);
      }
      QCOMPARE(next, expected + 1);
      loader.restart();
    }
  }

  void refuses_short_shards_and_foreign_batches() {
    const TokenShard shard = counting_shard(8, 4);
    ATHANOR_EXPECT_ERROR(BatchLoader(shard, kEnd, 8, 1), ErrorKind::invalid_argument,
                         "8 tokens, but one window of context 8 needs 9");
    BatchLoader loader(shard, kEnd, 4, 1);
    HostBatch batch(1, 5);
    ATHANOR_EXPECT_ERROR(loader.next(batch), ErrorKind::internal, "context");
    const TokenShard tiny = counting_shard(1, 4);
    ATHANOR_EXPECT_ERROR(EvaluationLoader(tiny, kEnd, 8), ErrorKind::invalid_argument, "1 tokens");
  }
};

QTEST_APPLESS_MAIN(TestBatchLoader)
#include "test_batch_loader.moc"
