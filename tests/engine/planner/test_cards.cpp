// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <set>

#include "engine/backend/cuda/card_traits.h"
#include "engine/base/file.h"
#include "engine/planner/cards.h"
#include "engine/planner/search.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

constexpr const char* kColumns =
    "name,compute_capability,memory_gib,bandwidth_gb_s,bf16_tflop_s,pcie_generation,pcie_lanes\n";
constexpr double kGiB = 1 << 30;

std::filesystem::path path_of(const QTemporaryDir& folder) {
  return folder.path().toStdString();
}

/// The model of the 1B check case, as a card trains it.
ModelConfig billion() {
  return {.vocabulary = 50304,
          .layers = 24,
          .width = 1792,
          .heads = 16,
          .kv_heads = 16,
          .ffn = 4480,
          .context = 4096};
}

TrainConfig billion_train(std::int64_t level) {
  TrainConfig train = on_card({});
  train.micro_batch = 1;
  train.gradient_accumulation = 16;
  train.head_chunk_tokens = 2048;
  train.gradients = Precision::bf16;
  train.moments = Moments::eight_bit;
  train.recompute_level = level;
  return train;
}

double tokens_per_second(const GraphicsCard& card, const ModelConfig& model,
                         const TrainConfig& train) {
  const TrainPlan plan = plan_training(model, train, cuda::card_traits());
  return predict_throughput(plan, model, train, speed_of(card)).tokens_per_second;
}

}  // namespace

class TestCards : public QObject {
  Q_OBJECT

 private slots:
  void table_is_plausible();
  void own_cards_add_and_replace();
  void damaged_files_are_told_data();
  void damaged_files_are_told();
  void huge_files_are_refused();
  void unknown_cards_are_told_with_others_like_them();
  void cards_without_bf16_cannot_train();
  void a_billion_parameters_go_as_fast_as_published();
  void the_right_plan_needs_no_full_recomputation();
  void storage_asked_for_comes_back();
  void copies_hide_behind_computing();
};

void TestCards::table_is_plausible() {
  const QTemporaryDir empty;
  const std::vector<GraphicsCard> cards = known_cards(path_of(empty));
  QVERIFY(cards.size() > 40);
  for (const GraphicsCard& card : cards) {
    const QByteArray name = QByteArray::fromStdString(card.name);
    QVERIFY2(card.memory_bytes >= 6LL << 30 && card.memory_bytes <= 200LL << 30, name);
    QVERIFY2(card.bytes_per_second > 2e11 && card.bytes_per_second < 1e13, name);
    QVERIFY2((card.bf16_flops_per_second > 0) == (card.compute_capability >= 8), name);
    QVERIFY2(card.host_bytes_per_second > 1e10 && card.host_bytes_per_second < 7e10, name);
  }
  QCOMPARE(find_card(cards, " rtx 5080 ").memory_bytes, std::int64_t{16} << 30);
}

void TestCards::own_cards_add_and_replace() {
  const QTemporaryDir folder;
  write_file_atomically(
      path_of(folder) / "cards.csv",
      std::string("# mine\n") + kColumns +
          "RTX 3070 ti , 8.6, 16, 608, 43.5, 4, 16\r\n\nMine,12.0,48,1000,200,5,8\n");
  const std::vector<GraphicsCard> cards = known_cards(path_of(folder));
  QCOMPARE(find_card(cards, "RTX 3070 Ti").memory_bytes, std::int64_t{16} << 30);
  QCOMPARE(find_card(cards, "mine").bf16_flops_per_second, 2e14);
  std::multiset<std::string> names;
  for (const GraphicsCard& card : cards)
    names.insert(QString::fromStdString(card.name).toLower().toStdString());
  QCOMPARE(names.count("rtx 3070 ti"), std::size_t{1});
}

void TestCards::damaged_files_are_told_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::addColumn<QByteArray>("part");
  const auto row = [](const char* name, const QByteArray& content, const char* part) {
    QTest::newRow(name) << content << QByteArray(part);
  };
  const QByteArray columns = kColumns;
  row("empty", "", "line 1: the first line must be name,");
  row("other columns", "a,b\n", "line 1: the first line must be name,");
  row("too few", columns + "Mine,8.9,8\n", "line 2: there must be 7 columns, not 3");
  row("no name", columns + ",8.9,8,100,10,4,16\n", "line 2: a name has 1 to 100 letters");
  row("text for a number", columns + "Mine,8.9,much,100,10,4,16\n",
      "memory_gib must be a number from 1 to 10000, not \"much\"");
  row("negative", columns + "Mine,8.9,-8,100,10,4,16\n", "memory_gib must be");
  row("NaN", columns + "Mine,8.9,nan,100,10,4,16\n", "memory_gib must be");
  row("absurd", columns + "Mine,8.9,8,1e300,10,4,16\n", "bandwidth_gb_s must be");
  row("half a generation", columns + "Mine,8.9,8,100,10,4.5,16\n", "must be a whole number");
  row("twice", columns + "Mine,8.9,8,100,10,4,16\n# again\nmine,8.9,8,100,10,4,16\n",
      "line 4: mine is there twice");
  row("not UTF-8", columns + "Mi\xFFne,8.9,8,100,10,4,16\n", "line 2: the name is not UTF-8");
  row("zeros", QByteArray(1000, '\0'), "line 1");
}

void TestCards::damaged_files_are_told() {
  QFETCH(const QByteArray, content);
  QFETCH(const QByteArray, part);
  const QTemporaryDir folder;
  const std::filesystem::path file = path_of(folder) / "cards.csv";
  write_file_atomically(file, content.toStdString());
  ATHANOR_EXPECT_ERROR(known_cards(path_of(folder)), ErrorKind::damaged, file.string() + ", line");
  ATHANOR_EXPECT_ERROR(known_cards(path_of(folder)), ErrorKind::damaged, part.toStdString());
}

void TestCards::huge_files_are_refused() {
  const QTemporaryDir folder;
  write_file_atomically(path_of(folder) / "cards.csv", std::string(2 << 20, 'x'));
  QVERIFY_EXCEPTION_THROWN(known_cards(path_of(folder)), Error);
}

void TestCards::unknown_cards_are_told_with_others_like_them() {
  const QTemporaryDir empty;
  const std::vector<GraphicsCard> cards = known_cards(path_of(empty));
  ATHANOR_EXPECT_ERROR(find_card(cards, "GeForce 3070"), ErrorKind::not_found,
                       "Did you mean RTX 3070, RTX 3070 Ti?");
  ATHANOR_EXPECT_ERROR(find_card(cards, "Voodoo"), ErrorKind::not_found,
                       "There is no card \"Voodoo\" in the table. `athanorctl cards` shows all");
  ATHANOR_EXPECT_ERROR(find_card(cards, ""), ErrorKind::not_found, "athanorctl cards");
}

void TestCards::cards_without_bf16_cannot_train() {
  const QTemporaryDir empty;
  const std::vector<GraphicsCard> cards = known_cards(path_of(empty));
  ATHANOR_EXPECT_ERROR(usable_bytes(find_card(cards, "RTX 2080 Ti")), ErrorKind::unsupported,
                       "The RTX 2080 Ti cannot train: it has no BF16 (compute capability 7.5");
  QCOMPARE(usable_bytes(find_card(cards, "RTX 5080")), (std::int64_t{16} << 30) - (390 << 20));
}

void TestCards::a_billion_parameters_go_as_fast_as_published() {
  const QTemporaryDir empty;
  const std::vector<GraphicsCard> cards = known_cards(path_of(empty));
  const GraphicsCard& card = find_card(cards, "RTX 5080");
  const double s2 = tokens_per_second(card, billion(), billion_train(2));
  const double s6 = tokens_per_second(card, billion(), billion_train(6));
  qInfo("S2 %.0f tokens/s, S6 %.0f", s2, s6);
  QVERIFY(std::abs(s2 / 12'000 - 1) < 0.03);
  QVERIFY(std::abs(s6 / 9'700 - 1) < 0.03);
}

void TestCards::the_right_plan_needs_no_full_recomputation() {
  const QTemporaryDir empty;
  const std::vector<GraphicsCard> cards = known_cards(path_of(empty));
  const GraphicsCard& card = find_card(cards, "RTX 5080");
  const Proposals ways = search_plans(billion(), billion_train(6), speed_of(card),
                                      usable_bytes(card), cuda::card_traits());
  QVERIFY(ways.fastest.has_value());
  QVERIFY(ways.fastest->train.recompute_level <= 2);
  QVERIFY(ways.fastest->peak_bytes < 15.7 * kGiB);
}

void TestCards::storage_asked_for_comes_back() {
  TrainConfig asked;
  asked.micro_batch = 8;
  TrainConfig proposed = on_card(asked);
  QVERIFY(proposed.weights == WeightStorage::bf16_master);
  proposed.micro_batch = 2;
  const TrainConfig back = from_card(proposed, asked);
  QVERIFY(back.weights == WeightStorage::f32 && back.activations == Precision::f32);
  QVERIFY(back.micro_batch == 2);
  // What is offloaded has to be there for the proposal to need what it says.
  proposed.offload_master = true;
  QVERIFY(from_card(proposed, asked).weights == WeightStorage::bf16_master);
  QVERIFY(from_card(proposed, asked).activations == Precision::f32);
  asked.weights = WeightStorage::bf16_split;
  QVERIFY(on_card(asked).weights == WeightStorage::bf16_split);
}

void TestCards::copies_hide_behind_computing() {
  const QTemporaryDir empty;
  const std::vector<GraphicsCard> cards = known_cards(path_of(empty));
  const GraphicsCard& card = find_card(cards, "RTX 4090");
  // The inputs of a block are ready long before its backward direction has been computed.
  const double here = tokens_per_second(card, billion(), billion_train(6));
  QCOMPARE(tokens_per_second(card, billion(), billion_train(7)), here);
  // Moments come and go while nothing else is computed.
  TrainConfig train = billion_train(6);
  train.offload_moments = true;
  QVERIFY(tokens_per_second(card, billion(), train) < here);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCards)
#include "test_cards.moc"
