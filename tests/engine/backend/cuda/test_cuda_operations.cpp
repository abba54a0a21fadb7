// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <map>

#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/cuda/kernels.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/engine/backend/cuda/thread_orders.h"
#include "tests/engine/backend/fp8_cases.h"
#include "tests/engine/backend/rounded_reference.h"
#include "tests/support/in_arena.h"

namespace athanor {
namespace {

#ifdef ATHANOR_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// A card stores rows and weights in bf16, gradients of weights as it is told.
constexpr RealTypes kF32Gradients{
    .rows = DType::bf16, .weights = DType::bf16, .operands = DType::bf16};
constexpr RealTypes kBf16Gradients{
    .rows = DType::bf16, .weights = DType::bf16, .gradients = DType::bf16, .operands = DType::bf16};

std::string_view name_of(Operation operation) {
  return names_of(operation)[static_cast<std::size_t>(operation)];
}

}  // namespace

/// The table of operations on the kernels for cards, which run on the processor in several orders
/// of threads: what depends on the order lacks a barrier.
class TestCudaOperations : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void matches_reference_data();
  void matches_reference();
  void cleanupTestCase();

 private:
  Arena arena_{kCase_arena_bytes};
  cuda::EmulatedCard card_;
  const std::vector<OperationCase> cases_ = cases_for(card_.backend->traits());
  std::map<std::string, Deviation> worst_;
};

void TestCudaOperations::initTestCase() {
  const std::int64_t bytes = cuda::card_traits().workspace_bytes;
  card_.backend->use_workspace(arena_.take(MemoryRole::workspace, DType::u8, {bytes}));
}

void TestCudaOperations::matches_reference_data() {
  QTest::addColumn<int>("index");
  QTest::addColumn<bool>("bf16_gradients");
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (!card_.backend->supports(cases_[i].operation, cases_[i].head_dim)) continue;
    const ArenaScope scope(arena_);
    QTest::newRow(cases_[i].name.c_str()) << static_cast<int>(i) << false;
    if (!kSanitized && has_reals(cases_[i].build(arena_), Kind::gradient)) {
      QTest::newRow((cases_[i].name + ", bf16 gradients").c_str()) << static_cast<int>(i) << true;
    }
  }
}

void TestCudaOperations::matches_reference() {
  QFETCH(const int, index);
  QFETCH(const bool, bf16_gradients);
  const OperationCase& row = cases_[static_cast<std::size_t>(index)];
  const RealTypes& types = bf16_gradients ? kBf16Gradients : kF32Gradients;
  const ArenaScope scope(arena_);
  const AnyOperation source = row.build(arena_);
  std::vector<AnyOperation> results;
  for (const cuda::emulation::Options& order : cuda::thread_orders()) {
    // Sanitizers are slow, and find the same in every order.
    if (kSanitized && order.order != cuda::emulation::ThreadOrder::reverse) continue;
    const cuda::emulation::ThreadOrderScope ordered(order);
    results.push_back(copy_operation(source, arena_, types));
    execute(*card_.backend, results.back());
    QVERIFY2(same_bits(results.front(), results.back()), "another order of threads, other bits");
  }
  // By way of the tested types, so that both see the same rounded inputs.
  const AnyOperation rounded = copy_operation(source, arena_, types);
  AnyOperation expected = copy_operation(rounded, arena_, RealTypes::all(DType::f64));
  execute_rounded_reference(expected, results.front(), *card_.backend, arena_);
  const Deviation deviation =
      compare(results.front(), expected, row.gain, Arithmetic::tensor_cores);
  Deviation& worst = worst_[std::string(name_of(row.operation))];
  if (deviation.share > worst.share) worst = {deviation.share, row.name + ", " + deviation.place};
  QVERIFY2(deviation.share <= 1, deviation.place.c_str());
}

void TestCudaOperations::cleanupTestCase() {
  for (const auto& [operation, deviation] : worst_) {
    qInfo("%s: worst error %.3f of the tolerance (%s)", operation.c_str(), deviation.share,
          deviation.place.c_str());
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCudaOperations)
#include "test_cuda_operations.moc"
