// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest/QtTest>
#include <set>

#include "engine/tensor/bf16.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/fakes/opaque_card.h"
#include "tests/gpu/card_check.h"

namespace athanor {

/// The check that runs on a real card, here on an emulated one whose memory it cannot read either.
class TestCardCheck : public QObject {
  Q_OBJECT

 private slots:
  void one_case_of_each_operation_passes();
  void what_is_wrong_is_found();
  void what_is_thrown_is_told();

 private:
  const std::vector<OperationCase> cases_ = operation_cases();
  const QTemporaryDir folder_;
};

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
  explicit WrongProducts(int right_calls) : right_calls_(right_calls) {}
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
    const std::unique_ptr<Backend> card = make_opaque(cuda::make_backend_on(
        std::make_unique<cuda::HostRuntime>(), std::make_unique<WrongProducts>(right_calls)));
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

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCardCheck)
#include "test_card_check.moc"
