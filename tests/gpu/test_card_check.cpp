// SPDX-License-Identifier: GPL-3.0-or-later
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest/QtTest>
#include <array>
#include <cerrno>
#include <set>

#include "engine/tensor/bf16.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/engine/backend/fp8_cases.h"
#include "tests/fakes/opaque_card.h"
#include "tests/gpu/card_check.h"
#include "tests/gpu/rated_card.h"
#include "tests/gpu/recorded_steps.h"

namespace athanor {

#ifdef ATHANOR_EMULATION_TSAN
namespace {
constexpr const char* kToo_slow =
    "ThreadSanitizer keeps a fiber for each CUDA thread; it judges every kernel in other tests";
}  // namespace
#endif

/// The check that runs on a real card, here on an emulated one whose memory it cannot read either.
class TestCardCheck : public QObject {
  Q_OBJECT

 private slots:
  void a_card_s_memory_is_its_own();
  void one_case_of_each_operation_passes();
  void what_is_wrong_is_found();
  void what_is_thrown_is_told();
  void recorded_steps_have_the_same_bits();
  void what_is_wrong_with_a_recording_is_found();
  void a_driver_s_name_is_found_in_the_table_data();
  void a_driver_s_name_is_found_in_the_table();

 private:
  const std::vector<OperationCase> cases_ = cases_for(cuda::EmulatedCard().backend->traits());
  const QTemporaryDir folder_;
};

/// The emulated card would hide what a real one does not allow.
void TestCardCheck::a_card_s_memory_is_its_own() {
  const std::unique_ptr<Backend> card = make_opaque(std::move(cuda::EmulatedCard().backend));
  const Buffer buffer = card->allocate(4096);
  std::array<int, 2> ends{};
  QCOMPARE(::pipe(ends.data()), 0);
  // The system refuses what would end this process.
  QCOMPARE(::write(ends[1], buffer.data(), 1), -1);
  QCOMPARE(errno, EFAULT);
  std::byte byte{1};
  card->download({&byte, 1}, {.data = buffer.data(), .dtype = DType::u8, .shape = {1}});
  QCOMPARE(byte, std::byte{0});
  QCOMPARE(::write(ends[1], buffer.data(), 1), -1);
  for (const int end : ends)
    ::close(end);
}

void TestCardCheck::one_case_of_each_operation_passes() {
  const std::unique_ptr<Backend> card = make_opaque(std::move(cuda::EmulatedCard().backend));
  CardCheck check(*card, folder_.path().toStdString());
  std::set<Operation> checked;
  for (const OperationCase& row : cases_) {
    if (checked.contains(row.operation)) continue;
    for (const CaseResult& result : check.check(row)) {
      QVERIFY2(result.passed(), (result.name + ": " + result.problem()).c_str());
      checked.insert(row.operation);
    }
  }
  QCOMPARE(checked.size(), static_cast<std::size_t>(kOperations));
}

namespace {

const OperationCase& first_of(const std::vector<OperationCase>& cases, Operation operation) {
  return *std::ranges::find(cases, operation, &OperationCase::operation);
}

/// Products in which a number is off after a few calls, or from the first.
class WrongProducts : public cuda::HostProducts {
 public:
  WrongProducts(cuda::Stream stream, int right_calls)
      : cuda::HostProducts(stream), right_calls_(right_calls) {}
  void linear(const Linear& op) override {
    cuda::HostProducts::linear(op);
    if (right_calls_-- <= 0) op.y.as<Bf16>()[0].bits ^= 0x100;
  }

 private:
  int right_calls_;
};

}  // namespace

void TestCardCheck::what_is_wrong_is_found() {
  const auto problem_after = [&](int right_calls) {
    auto runtime = std::make_unique<cuda::HostRuntime>();
    auto products = std::make_unique<WrongProducts>(runtime->stream(), right_calls);
    const std::unique_ptr<Backend> card =
        make_opaque(cuda::make_backend_on(std::move(runtime), std::move(products)));
    CardCheck check(*card, folder_.path().toStdString());
    return check.check(first_of(cases_, Operation::linear)).front().problem();
  };
  QVERIFY(problem_after(2).empty());
  QVERIFY(problem_after(1).find("other bits") != std::string::npos);
  QVERIFY(problem_after(0).find("instead of") != std::string::npos);
}

void TestCardCheck::what_is_thrown_is_told() {
  cuda::EmulatedCard card;
  CardCheck check(*card.backend, folder_.path().toStdString());
  card.runtime->plan_fault({.fault = cuda::Fault::lost});
  const CaseResult result = check.check(first_of(cases_, Operation::rope)).front();
  QVERIFY(!result.passed());
  QVERIFY(result.problem().find("planned by a test") != std::string::npos);
}

void TestCardCheck::recorded_steps_have_the_same_bits() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const std::unique_ptr<Backend> card = make_opaque(std::move(cuda::EmulatedCard().backend));
  QCOMPARE(problem_of_recording(*card), std::string());
}

/// A number that changes from one micro-batch to the next, and that a recording has as an argument,
/// keeps its first value.
void TestCardCheck::what_is_wrong_with_a_recording_is_found() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  for (const Stale stale : {Stale::gradient_scale, Stale::micro_step})
    QVERIFY(problem_of_recording(*cuda::EmulatedCard().backend, stale).find("other bits") !=
            std::string::npos);
  cuda::EmulatedCard refusing;
  refusing.runtime->refuse_to_record();
  QVERIFY(problem_of_recording(*refusing.backend).find("could not record") != std::string::npos);
}

void TestCardCheck::a_driver_s_name_is_found_in_the_table_data() {
  QTest::addColumn<QString>("driver");
  QTest::addColumn<double>("gibibytes");
  QTest::addColumn<QString>("row");
  QTest::newRow("desktop") << "NVIDIA GeForce RTX 3070 Ti" << 7.8 << "RTX 3070 Ti";
  QTest::newRow("its lesser") << "NVIDIA GeForce RTX 3070" << 7.8 << "RTX 3070";
  QTest::newRow("laptop") << "NVIDIA GeForce RTX 3070 Laptop GPU" << 7.8 << "";
  QTest::newRow("socket unsaid") << "NVIDIA H200" << 139.8 << "H200 SXM";
  QTest::newRow("socket said") << "NVIDIA H100 PCIe" << 79.2 << "H100 PCIe";
  QTest::newRow("memory said") << "NVIDIA H100 80GB HBM3" << 79.2 << "H100 SXM";
  QTest::newRow("other memory") << "NVIDIA A100-SXM4-40GB" << 39.4 << "";
  QTest::newRow("unknown") << "NVIDIA Card of Tomorrow" << 8.0 << "";
}

void TestCardCheck::a_driver_s_name_is_found_in_the_table() {
  QFETCH(const QString, driver);
  QFETCH(const double, gibibytes);
  QFETCH(const QString, row);
  const std::vector<GraphicsCard> cards = parse_cards(built_in_cards(), "cards.csv");
  const std::optional<GraphicsCard> found =
      rated_card(cards, driver.toStdString(), static_cast<std::int64_t>(gibibytes * (1 << 30)));
  QCOMPARE(found ? QString::fromStdString(found->name) : QString(), row);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCardCheck)
#include "test_card_check.moc"
