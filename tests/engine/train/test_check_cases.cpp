// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>

#include "engine/backend/cuda/card_traits.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/base/settings.h"
#include "engine/model/parameters.h"
#include "engine/train/train_plan.h"

namespace athanor {
namespace {

constexpr double kGiB = 1 << 30;
constexpr double kMiB = 1 << 20;

Json golden() {
  const std::string source = qEnvironmentVariable("ATHANOR_SOURCE_DIR").toStdString();
  return read_json_file(source + "/tests/golden/check_cases.json");
}

template <class Config>
Config config_from(const Json& json) {
  Config config;
  SettingsReader reader(json, "case");
  visit_fields(config, reader);
  reader.refuse_unknown();
  return config;
}

TrainPlan plan_of(const Json& model, const Json& train) {
  return plan_training(config_from<ModelConfig>(model), config_from<TrainConfig>(train),
                       cuda::card_traits());
}

/// The bytes of the buffers that are called so.
double bytes_of(const TrainPlan& plan, const std::string& name) {
  for (const Arena::Record& buffer : plan.buffers) {
    if (buffer.name.what == name) return static_cast<double>(buffer.size_bytes);
  }
  return 0;
}

}  // namespace

/// The plan of a card's backend against figures that others worked out by hand.
class TestCheckCases : public QObject {
  Q_OBJECT

 private slots:
  void peaks_data();
  void peaks();
  void parameters_data();
  void parameters();
  void a_fused_head_needs_far_less();
};

void TestCheckCases::peaks_data() {
  QTest::addColumn<int>("index");
  QTest::addColumn<int>("peak");
  const Json cases = golden().at("cases");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t p = 0; p < cases[i].at("peaks").size(); ++p) {
      const Json& peak = cases[i].at("peaks")[p];
      QTest::addRow("%s, micro-batch %d, S%d", cases[i].at("name").get<std::string>().c_str(),
                    peak.at("micro_batch").get<int>(), peak.at("recompute_level").get<int>())
          << static_cast<int>(i) << static_cast<int>(p);
    }
  }
}

void TestCheckCases::peaks() {
  QFETCH(const int, index);
  QFETCH(const int, peak);
  const Json golden_case = golden().at("cases")[static_cast<std::size_t>(index)];
  const Json expected = golden_case.at("peaks")[static_cast<std::size_t>(peak)];
  Json train = golden_case.at("train");
  train["micro_batch"] = expected.at("micro_batch");
  train["recompute_level"] = expected.at("recompute_level");
  const TrainPlan plan = plan_of(golden_case.at("model"), train);
  const double outside = golden_case.at("outside_bytes").get<double>();
  const double difference = golden_case.value("but_bytes", 0.0);
  // The figures count the workspace of matrix products with what lies outside.
  const std::int64_t bytes = plan.memory.peak_bytes - cuda::card_traits().workspace_bytes;
  const double gib = (static_cast<double>(bytes) + outside - difference) / kGiB;
  const double given = expected.at("gib").get<double>();
  qInfo("%.3f GiB, given as %.1f", gib, given);
  // Given to one digit: within what that rounds away, or within 1 %.
  QVERIFY(std::abs(gib - given) <= std::max(0.05, 0.01 * given));
}

void TestCheckCases::parameters_data() {
  QTest::addColumn<int>("index");
  const Json cases = golden().at("cases");
  for (std::size_t i = 0; i < cases.size(); ++i)
    QTest::addRow("%s", cases[i].at("name").get<std::string>().c_str()) << static_cast<int>(i);
}

void TestCheckCases::parameters() {
  QFETCH(const int, index);
  const Json golden_case = golden().at("cases")[static_cast<std::size_t>(index)];
  const ParameterTable table(config_from<ModelConfig>(golden_case.at("model")));
  QCOMPARE(table.count(), golden_case.at("parameters").get<std::int64_t>());
}

void TestCheckCases::a_fused_head_needs_far_less() {
  const Json head = golden().at("head");
  const TrainPlan plan = plan_of(head.at("model"), head.at("train"));
  QCOMPARE(bytes_of(plan, "logits of a chunk") / kMiB, head.at("chunk_mib").get<double>());
  const double d_x = bytes_of(plan, "gradient of the last norm");
  QCOMPARE(d_x / kMiB, head.at("input_gradient_mib").get<double>());
  const auto model = config_from<ModelConfig>(head.at("model"));
  const auto vocabulary = static_cast<double>(model.vocabulary);
  const double d_weight = 2 * vocabulary * static_cast<double>(model.width);
  QCOMPARE(d_weight / kMiB, head.at("weight_gradient_mib").get<double>());
  const double unfused = 12 * vocabulary * static_cast<double>(model.context);
  QVERIFY(std::abs(unfused / 1e9 - head.at("unfused_gigabytes").get<double>()) < 1.5);
  QVERIFY(bytes_of(plan, "logits of a chunk") + d_x + d_weight < unfused / 16);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCheckCases)
#include "test_check_cases.moc"
