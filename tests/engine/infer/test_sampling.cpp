// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <limits>
#include <set>

#include "engine/infer/generator.h"
#include "engine/infer/stop_text.h"
#include "tests/support/expect_error.h"

namespace athanor {

/// How tokens are drawn and become text, without a model.
class TestSampling : public QObject {
  Q_OBJECT

 private slots:
  void greedy_takes_the_most_probable();
  void top_k_and_top_p_cut_the_tail();
  void min_p_and_typical_p_cut_the_rest();
  void penalties_and_biases_change_what_is_likely();
  void draws_follow_the_distribution();
  void output_that_is_no_number_is_an_error();
  void utf8_comes_whole_data();
  void utf8_comes_whole();
  void texts_are_stopped_at_data();
  void texts_are_stopped_at();
};

void TestSampling::greedy_takes_the_most_probable() {
  Sampler sampler({.temperature = 0});
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 2.0F};
  for (int i = 0; i < 10; ++i)
    QCOMPARE(sampler.sample(logits, i), 1);
}

void TestSampling::top_k_and_top_p_cut_the_tail() {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  Sampler two({.temperature = 1, .top_k = 2, .top_p = 1});
  Sampler most({.temperature = 1, .top_k = 0, .top_p = 0.81});
  for (int i = 0; i < 500; ++i) {
    QVERIFY(two.sample(logits, i) < 2);
    QVERIFY(most.sample(logits, i) < 3);
  }
}

void TestSampling::min_p_and_typical_p_cut_the_rest() {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  const auto drawn = [&](const SamplingOptions& options) {
    Sampler sampler(options);
    std::set<std::int32_t> ids;
    for (int i = 0; i < 500; ++i)
      ids.insert(sampler.sample(logits, i));
    return ids;
  };
  SamplingOptions options{.temperature = 1, .top_k = 0, .top_p = 1};
  options.min_p = 0.5;
  QCOMPARE(drawn(options), (std::set<std::int32_t>{0, 1}));
  options.min_p = 0.25;
  QCOMPARE(drawn(options), (std::set<std::int32_t>{0, 1, 2}));
  options.min_p = 0;
  // The entropy is 1.142 nats; informations are 0.693, 1.204, 1.897 and 2.996: 1, 0, 2, 3 by
  // distance, with sums 0.3, 0.8, 0.95, 1.
  options.typical_p = 0.2;
  QCOMPARE(drawn(options), (std::set<std::int32_t>{1}));
  options.typical_p = 0.7;
  QCOMPARE(drawn(options), (std::set<std::int32_t>{0, 1}));
  options.typical_p = 0.9;
  QCOMPARE(drawn(options), (std::set<std::int32_t>{0, 1, 2}));
}

void TestSampling::penalties_and_biases_change_what_is_likely() {
  const std::vector<float> logits = {2.0F, 1.8F, -1.0F, 0.5F};
  const auto answer = [&](SamplingOptions options, std::vector<std::int32_t> prompt = {}) {
    options.temperature = 0;
    Sampler sampler(options);
    sampler.begin_after(prompt);
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 4; ++i)
      ids.push_back(sampler.sample(logits, i));
    return ids;
  };
  using Ids = std::vector<std::int32_t>;
  QCOMPARE(answer({}), (Ids{0, 0, 0, 0}));
  // 2 / 1.5 is under 1.8, then both are what they were among each other.
  QCOMPARE(answer({.repetition_penalty = 1.5}), (Ids{0, 1, 0, 0}));
  QCOMPARE(answer({.repetition_penalty = 1.5}, {0}), (Ids{1, 0, 0, 0}));
  QCOMPARE(answer({.presence_penalty = 0.3}), (Ids{0, 1, 0, 0}));
  QCOMPARE(answer({.presence_penalty = 0.3}, {0}), (Ids{0, 1, 0, 0}));
  QCOMPARE(answer({.frequency_penalty = 0.3}), (Ids{0, 1, 0, 1}));
  QCOMPARE(answer({.frequency_penalty = 10}), (Ids{0, 1, 3, 2}));
  SamplingOptions biased;
  biased.logit_bias = {{2, 5.0F}, {77, 100.0F}};
  QCOMPARE(answer(biased), (Ids{2, 2, 2, 2}));
}

void TestSampling::draws_follow_the_distribution() {
  const std::vector<float> logits = {std::log(0.6F), std::log(0.3F), std::log(0.1F)};
  Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1});
  constexpr int kDraws = 20000;
  std::array<int, 3> counts{};
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<std::size_t>(sampler.sample(logits, i))];
  // Five standard deviations of a binomial count.
  const std::array<double, 3> expected = {0.6, 0.3, 0.1};
  for (std::size_t i = 0; i < 3; ++i) {
    const double deviation = std::sqrt(kDraws * expected[i] * (1 - expected[i]));
    QVERIFY(std::abs(counts[i] - kDraws * expected[i]) < 5 * deviation);
  }
}

void TestSampling::output_that_is_no_number_is_an_error() {
  Sampler sampler(SamplingOptions{});
  const std::vector<float> logits = {1, std::numeric_limits<float>::quiet_NaN()};
  ATHANOR_EXPECT_ERROR(sampler.sample(logits, 0), ErrorKind::non_finite, "earlier checkpoint");
}

void TestSampling::utf8_comes_whole_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QByteArray>("text");
  const QByteArray replaced = "\xEF\xBF\xBD";
  QTest::newRow("ASCII") << QByteArray("abc") << QByteArray("abc");
  QTest::newRow("four bytes") << QByteArray("\xF0\x9F\x94\xA5!") << QByteArray("\xF0\x9F\x94\xA5!");
  QTest::newRow("never a character") << QByteArray(
                                            "a\xFF"
                                            "b")
                                     << QByteArray("a" + replaced + "b");
  QTest::newRow("cut short") << QByteArray("a\xE2\x82") << QByteArray("a" + replaced);
  QTest::newRow("a new one begins too early")
      << QByteArray("\xE2\x82z") << QByteArray(replaced + "z");
  QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80")
                             << QByteArray(replaced + replaced + replaced);
}

void TestSampling::utf8_comes_whole() {
  QFETCH(QByteArray, bytes);
  QFETCH(QByteArray, text);
  Utf8Stream stream;
  std::string given;
  for (const char byte : bytes) {
    const std::string piece = stream.push(std::string_view(&byte, 1));
    QVERIFY(QString::fromUtf8(piece.data(), static_cast<qsizetype>(piece.size())).toStdString() ==
            piece);
    given += piece;
  }
  given += stream.finish();
  QCOMPARE(QByteArray::fromStdString(given), text);
}

void TestSampling::texts_are_stopped_at_data() {
  QTest::addColumn<QStringList>("stops");
  QTest::addColumn<QStringList>("pieces");
  QTest::addColumn<QString>("given");
  QTest::addColumn<bool>("found");
  const QStringList story = {"Once", " upon a", " time\n", "\nEnd"};
  QTest::newRow("none") << QStringList{} << story << "Once upon a time\n\nEnd" << false;
  QTest::newRow("across pieces") << QStringList{"\n\n"} << story << "Once upon a time" << true;
  QTest::newRow("the first of two") << QStringList{"time", "upon"} << story << "Once " << true;
  QTest::newRow("only begun") << QStringList{"End."} << story << "Once upon a time\n\nEnd" << false;
  QTest::newRow("at once") << QStringList{"O"} << story << "" << true;
  QTest::newRow("begun twice") << QStringList{"aab"} << QStringList{"a", "a", "a", "b", "c"} << "a"
                               << true;
  QTest::newRow("characters") << QStringList{QString::fromUtf8("é!")}
                              << QStringList{QString::fromUtf8("ké"), QString::fromUtf8("é!x")}
                              << QString::fromUtf8("ké") << true;
}

void TestSampling::texts_are_stopped_at() {
  QFETCH(const QStringList, stops);
  QFETCH(const QStringList, pieces);
  QFETCH(const QString, given);
  QFETCH(const bool, found);
  std::vector<std::string> texts;
  for (const QString& stop : stops)
    texts.push_back(stop.toStdString());
  StopText stop(texts);
  std::string all;
  for (const QString& piece : pieces)
    all += stop.push(piece.toStdString());
  QCOMPARE(stop.found(), found);
  all += stop.finish();
  QCOMPARE(QString::fromStdString(all), given);
  ATHANOR_EXPECT_ERROR(StopText({"fine", ""}), ErrorKind::invalid_argument, "0 bytes");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestSampling)
#include "test_sampling.moc"
