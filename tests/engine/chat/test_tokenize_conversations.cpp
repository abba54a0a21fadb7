// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <QTemporaryDir>
#include <set>

#include "engine/base/file.h"
#include "engine/chat/tokenize_conversations.h"
#include "engine/data/example_loader.h"
#include "tests/support/expect_error.h"

using namespace athanor;
namespace fs = std::filesystem;

namespace {
/// Bytes and the end of text.
Tokenizer bytes_only() {
  return Tokenizer(std::vector<Tokenizer::Merge>());
}
}  // namespace

class TestTokenizeConversations : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  Tokenizer tokenizer_ = bytes_only();
  ChatTemplate chat_{{ChatFormat::plain, ""}, tokenizer_, tokenizer_.end_of_text()};

  fs::path folder() const { return folder_.path().toStdString(); }

  TokenizedConversations tokenized(const std::string& records, const ConversationOptions& options) {
    write_file_atomically(folder() / "records.jsonl", records);
    return tokenize_conversations(folder() / "records.jsonl", chat_, options, folder(),
                                  CancelToken());
  }

  static std::string record(const std::string& prompt, const std::string& answer) {
    return fmt::format("{{\"prompt\":\"{}\",\"completion\":\"{}\"}}\n", prompt, answer);
  }

  static std::string many(int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
      all += record(fmt::format("question {}", i),
                    std::string(static_cast<std::size_t>(1 + i % 9), 'a'));
    return all;
  }

 private slots:
  void examples_hold_tokens_and_marks() {
    const auto made = tokenized(many(200), {.context = 64, .held_out_fraction = 0.1});
    QCOMPARE(made.records, 200);
    QCOMPARE(made.train_examples + made.held_out_examples, 200);
    // Binomial: a mean of 20 and a deviation of 4.2.
    QVERIFY(made.held_out_examples > 3 && made.held_out_examples < 37);
    QCOMPARE(made.left_out, 0);
    const ExampleShard shard = ExampleShard::open(folder(), "train");
    QCOMPARE(shard.examples(), made.train_examples);
    QCOMPARE(shard.trained(), made.train_tokens);
    for (std::int64_t i = 0; i < shard.examples(); ++i) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.length(i)));
      std::vector<std::int32_t> kinds(ids.size());
      shard.tokens().read(shard.start(i), ids);
      shard.read_marks(shard.start(i), kinds);
      QCOMPARE(ids.front(), tokenizer_.end_of_text());
      QCOMPARE(ids.back(), tokenizer_.end_of_text());
      const std::string text = tokenizer_.decode(ids);
      const std::size_t answer = text.find('\n') + 2;
      for (std::size_t k = 1; k < kinds.size(); ++k)
        QCOMPARE(kinds[k], k >= answer ? ExampleShard::kTrained : 0);
    }
  }

  void the_same_question_is_on_one_side() {
    std::string all;
    for (int i = 0; i < 300; ++i)
      all += record(fmt::format("question {}", i % 30), fmt::format("answer {}", i));
    tokenized(all, {.context = 64, .held_out_fraction = 0.2});
    std::set<std::string> questions[2];
    int side = 0;
    for (const char* name : {"train", "validation"}) {
      const ExampleShard shard = ExampleShard::open(folder(), name);
      for (std::int64_t i = 0; i < shard.examples(); ++i) {
        std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.length(i)));
        shard.tokens().read(shard.start(i), ids);
        const std::string text = tokenizer_.decode(ids);
        questions[side].insert(text.substr(0, text.find('\n')));
      }
      ++side;
    }
    QCOMPARE(questions[0].size() + questions[1].size(), std::size_t{30});
    QVERIFY(!questions[1].empty());
  }

  void one_question_at_least_is_held_out() {
    const auto made = tokenized(record("a", "1") + record("b", "2") + record("a", "3"),
                                {.context = 64, .held_out_fraction = 0.001});
    QVERIFY(made.held_out_examples >= 1 && made.train_examples >= 1);
    ATHANOR_EXPECT_ERROR(tokenized(record("a", "1") + record("a", "2"), {.context = 64}),
                         ErrorKind::invalid_argument, "two different questions");
    ATHANOR_EXPECT_ERROR(tokenized("", {.context = 64}), ErrorKind::invalid_argument,
                         "two different questions");
  }

  void long_conversations_are_shortened_as_asked_data() {
    QTest::addColumn<int>("truncation");
    QTest::addColumn<int>("left_out");
    QTest::addColumn<int>("shortened");
    QTest::newRow("left out") << static_cast<int>(Truncation::leave_out) << 2 << 0;
    // What is cut off one of them is its whole answer.
    QTest::newRow("cut") << static_cast<int>(Truncation::cut_end) << 1 << 1;
    QTest::newRow("turns") << static_cast<int>(Truncation::drop_turns) << 1 << 1;
  }
  void long_conversations_are_shortened_as_asked() {
    QFETCH(int, truncation);
    QFETCH(int, left_out);
    QFETCH(int, shortened);
    const std::string turns =
        R"({"messages":[{"role":"user","content":"aaaaaaaaaa"},{"role":"assistant","content":"bb"},)"
        R"({"role":"user","content":"cccccccc"},{"role":"assistant","content":"dd"}]})"
        "\n";
    const auto made = tokenized(many(20) + turns + record(std::string(40, 'x'), "y"),
                                {.truncation = static_cast<Truncation>(truncation),
                                 .context = 24,
                                 .held_out_fraction = 0.1});
    QCOMPARE(made.left_out, left_out);
    QCOMPARE(made.shortened, shortened);
    QCOMPARE(made.longest_tokens, 44);
  }

  void without_a_trained_token_nothing_is_made() {
    ATHANOR_EXPECT_ERROR(tokenized(record("aaaaaa", "1") + record("bbbbbb", "2"), {.context = 4}),
                         ErrorKind::invalid_argument,
                         "leaves no token to train on: of its 2 records 2");
    std::string untrained;
    for (const char* prompt : {"a", "b", "c"})
      untrained += fmt::format(
          R"({{"messages":[{{"role":"user","content":"{}"}},{{"role":"assistant","content":"x","weight":0}}]}})"
          "\n",
          prompt);
    ATHANOR_EXPECT_ERROR(tokenized(untrained, {.context = 64}), ErrorKind::invalid_argument,
                         "leaves no token");
  }

  void rows_hold_whole_examples_once() {
    const std::int64_t context = 40;
    tokenized(many(150), {.context = context, .held_out_fraction = 0.1});
    const ExampleShard shard = ExampleShard::open(folder(), "train");
    const std::int32_t padding = tokenizer_.end_of_text();
    ExampleLoader loader(shard, padding, context, 5);
    // Rows would be full if examples could be cut; best fit decreasing needs at most 11/9 of the
    // best.
    const std::int64_t places = shard.tokens().tokens() - shard.examples();
    QVERIFY(loader.windows_per_epoch() <= (places * 11 / 9) / context + 2);
    HostBatch batch(1, context);
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::multiset<std::string> seen;
      std::int64_t trained = 0;
      for (std::int64_t row = 0; row < loader.windows_per_epoch(); ++row) {
        loader.next(batch);
        trained += batch.trained_tokens;
        std::string text;
        for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
          const auto start = static_cast<std::size_t>(batch.document_starts[i]);
          QVERIFY(start <= i && batch.tokens[start] == padding);
          const bool begins = start == i;
          if (begins && !text.empty()) seen.insert(std::exchange(text, {}));
          if (!begins) text += static_cast<char>(batch.tokens[i]);
          if (batch.targets[i] >= 0 && i + 1 < batch.tokens.size() && batch.targets[i] != padding)
            QCOMPARE(batch.targets[i], batch.tokens[i + 1]);
        }
        if (!text.empty()) seen.insert(text);
      }
      QCOMPARE(static_cast<std::int64_t>(seen.size()), shard.examples());
      QCOMPARE(trained, shard.trained());
      QCOMPARE(loader.state().epoch, epoch);
    }
  }

  void a_loader_goes_on_where_it_was() {
    tokenized(many(150), {.context = 40, .held_out_fraction = 0.1});
    const ExampleShard shard = ExampleShard::open(folder(), "train");
    ExampleLoader first(shard, 256, 40, 5);
    HostBatch batch(3, 40);
    for (int i = 0; i < 30; ++i)
      first.next(batch);
    ExampleLoader second(shard, 256, 40, 5);
    second.restore(first.state());
    HostBatch again(3, 40);
    first.next(batch);
    second.next(again);
    QCOMPARE(batch.tokens, again.tokens);
    QCOMPARE(batch.targets, again.targets);
    ExampleLoader other(shard, 256, 40, 6);
    other.restore(first.state());
    other.next(again);
    QVERIFY(batch.tokens != again.tokens);
  }

  void evaluation_counts_every_trained_token_once() {
    tokenized(many(150), {.context = 40, .held_out_fraction = 0.3});
    const ExampleShard shard = ExampleShard::open(folder(), "validation");
    ExampleEvaluationLoader loader(shard, 256, 40);
    HostBatch batch(4, 40);
    for (int walk = 0; walk < 2; ++walk) {
      std::int64_t trained = 0;
      loader.restart();
      while (loader.next(batch)) {
        trained += batch.trained_tokens;
        QCOMPARE(std::ranges::count_if(batch.targets, [](std::int32_t t) { return t >= 0; }),
                 batch.trained_tokens);
      }
      QCOMPARE(trained, shard.trained());
    }
    loader.restart();
    loader.limit(1);
    QVERIFY(loader.next(batch));
    QVERIFY(!loader.next(batch));
  }

  void files_that_do_not_belong_together_are_damaged() {
    tokenized(many(50), {.context = 64, .held_out_fraction = 0.2});
    const ExampleShard shard = ExampleShard::open(folder(), "train");
    ATHANOR_EXPECT_ERROR(ExampleLoader(shard, 256, 8, 1), ErrorKind::invalid_argument,
                         "has room for 9");
    for (const char* other : {"validation.marks", "train.tokens"}) {
      fs::copy_file(folder() / other, folder() / "mixed.marks",
                    fs::copy_options::overwrite_existing);
      fs::copy_file(folder() / "train.tokens", folder() / "mixed.tokens",
                    fs::copy_options::overwrite_existing);
      ATHANOR_EXPECT_ERROR(ExampleShard::open(folder(), "mixed"), ErrorKind::damaged,
                           "does not belong");
    }
  }
};

QTEST_APPLESS_MAIN(TestTokenizeConversations)
#include "test_tokenize_conversations.moc"
