// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/registry.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/engine/backend/gradient_check.h"
#include "tests/engine/backend/rounded_reference.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

#ifdef ATHANOR_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::string_view name_of(Operation operation) {
  return names_of(operation)[static_cast<std::size_t>(operation)];
}

/// A backend as one column of the table: the CPU's once for each instruction set.
struct Column {
  std::string backend;
  std::string instruction_set;
  std::string text() const {
    return instruction_set.empty() ? backend : backend + " " + instruction_set;
  }
};

std::vector<Column> columns() {
  std::vector<Column> columns;
  for (const std::string& backend : find_devices().usable_ids()) {
    if (backend != "cpu") {
      columns.push_back({backend, {}});
      continue;
    }
    for (const std::string& set : cpu_instruction_sets()) {
      columns.push_back({backend, set});
      // Sanitizers find the same in every set, since the source is the same.
      if (kSanitized) break;
    }
  }
  return columns;
}

/// Another way to store an operation's tensors.
struct Storage {
  const char* text;
  RealTypes types;
  std::vector<Kind> bf16;
};

/// Kinds of tensors may be bf16 each for itself.
std::vector<Storage> storages() {
  return {{"", {}, {}},
          {", bf16 rows", {.rows = DType::bf16}, {Kind::rows}},
          {", bf16 weights", {.weights = DType::bf16}, {Kind::weight}},
          {", bf16 gradients", {.gradients = DType::bf16}, {Kind::gradient}},
          {", bf16",
           {.rows = DType::bf16, .weights = DType::bf16, .gradients = DType::bf16},
           {Kind::rows, Kind::weight, Kind::gradient}}};
}

/// Whether `storage` is not the same for this operation as one with fewer kinds in bf16.
bool matters(const Storage& storage, const AnyOperation& operation) {
  const auto concerned = std::count_if(storage.bf16.begin(), storage.bf16.end(),
                                       [&](Kind kind) { return has_reals(operation, kind); });
  return storage.bf16.empty() || concerned > (storage.bf16.size() > 1 ? 1 : 0);
}

/// Instruction set of the CPU backend for one scope.
class ForcedInstructionSet {
 public:
  explicit ForcedInstructionSet(const std::string& name) {
    if (!name.empty()) force_cpu_instruction_set(name);
  }
  ~ForcedInstructionSet() { force_cpu_instruction_set({}); }
  ForcedInstructionSet(const ForcedInstructionSet&) = delete;
  ForcedInstructionSet& operator=(const ForcedInstructionSet&) = delete;
};

}  // namespace

/// The table of operations: every backend against the reference, and the reference against itself.
class TestOperations : public QObject {
  Q_OBJECT

 private slots:
  void instruction_sets_have_known_names();
  void matches_reference_data();
  void matches_reference();
  void gradients_match_differences_data() { rows(true); }
  void gradients_match_differences();
  void gradient_check_notices_a_fault_data() { rows(true); }
  void gradient_check_notices_a_fault();
  void comparison_notices_a_fault_data() { rows(false); }
  void comparison_notices_a_fault();
  void comparison_of_bf16_notices_a_fault_data() { rows(false); }
  void comparison_of_bf16_notices_a_fault();
  void support_is_reported_data();
  void support_is_reported();
  void every_operation_has_cases();
  void cleanupTestCase();

 private:
  void rows(bool only_gradients);
  /// Calls add(index, storage, name) for each case in each way that it can be stored.
  template <class Add>
  void for_each_storage(const Add& add);

  const std::vector<OperationCase> cases_ = operation_cases();
  Arena arena_{kCase_arena_bytes};
  std::map<std::string, Deviation> worst_;
};

void TestOperations::instruction_sets_have_known_names() {
  QCOMPARE(instruction_set_label("AVX3"), std::string("AVX-512"));
  QCOMPARE(instruction_set_label("AVX2"), std::string("AVX2"));
  QVERIFY(make_cpu_backend(1)->device().detail.find("AVX3") == std::string::npos);
}

void TestOperations::rows(bool only_gradients) {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const ArenaScope scope(arena_);
    if (only_gradients && !computes_gradients(cases_[i].build(arena_))) continue;
    QTest::newRow(cases_[i].name.c_str()) << static_cast<int>(i);
  }
}

template <class Add>
void TestOperations::for_each_storage(const Add& add) {
  const std::vector<Storage> ways = storages();
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const ArenaScope scope(arena_);
    const AnyOperation operation = cases_[i].build(arena_);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      if (matters(ways[way], operation)) {
        add(static_cast<int>(i), static_cast<int>(way), cases_[i].name + ways[way].text);
      }
    }
  }
}

void TestOperations::matches_reference_data() {
  QTest::addColumn<int>("index");
  QTest::addColumn<int>("storage");
  QTest::addColumn<QString>("backend");
  QTest::addColumn<QString>("instruction_set");
  for_each_storage([](int index, int storage, const std::string& name) {
    for (const Column& column : columns()) {
      QTest::newRow((column.text() + ": " + name).c_str())
          << index << storage << QString::fromStdString(column.backend)
          << QString::fromStdString(column.instruction_set);
    }
  });
}

void TestOperations::matches_reference() {
  QFETCH(const int, index);
  QFETCH(const int, storage);
  QFETCH(const QString, backend);
  QFETCH(const QString, instruction_set);
  const RealTypes types = storages()[static_cast<std::size_t>(storage)].types;
  const OperationCase& row = cases_[static_cast<std::size_t>(index)];
  const ForcedInstructionSet forced(instruction_set.toStdString());
  const ArenaScope scope(arena_);
  const AnyOperation source = row.build(arena_);
  std::vector<AnyOperation> results;
  for (const int threads : {1, 2, 3}) {
    const std::unique_ptr<Backend> tested =
        make_backend({.threads = threads, .device = backend.toStdString()});
    if (!tested->supports(row.operation, row.head_dim)) QSKIP("not supported by this backend");
    QCOMPARE(tested->compute_type(), types.statistics);
    results.push_back(copy_operation(source, arena_, types));
    execute(*tested, results.back());
    QVERIFY2(same_bits(results.front(), results.back()),
             ("other bits with " + std::to_string(threads) + " threads").c_str());
  }
  // By way of the tested types, so that both see the same rounded inputs.
  const AnyOperation rounded = copy_operation(source, arena_, types);
  AnyOperation expected = copy_operation(rounded, arena_, RealTypes::all(DType::f64));
  execute_rounded_reference(expected, results.front(),
                            *make_backend({.threads = 1, .device = backend.toStdString()}), arena_);
  const Deviation deviation = compare(results.front(), expected, row.gain);
  Deviation& worst =
      worst_[std::string(name_of(row.operation)) + (storage > 0 ? " with bf16" : "")];
  if (deviation.share > worst.share) worst = {deviation.share, row.name + ", " + deviation.place};
  QVERIFY2(deviation.share <= 1, deviation.place.c_str());
}

void TestOperations::gradients_match_differences() {
  QFETCH(const int, index);
  const OperationCase& row = cases_[static_cast<std::size_t>(index)];
  const ArenaScope scope(arena_);
  const GradientDeviation deviation = check_gradients(row, arena_);
  QVERIFY2(deviation.relative <= kGradient_tolerance,
           (deviation.place + ", relative " + std::to_string(deviation.relative)).c_str());
}

void TestOperations::gradient_check_notices_a_fault() {
  QFETCH(const int, index);
  const ArenaScope scope(arena_);
  const GradientDeviation deviation =
      check_gradients(cases_[static_cast<std::size_t>(index)], arena_, 1.0001);
  if (deviation.scale == 0) QSKIP("all gradients are zero");
  QVERIFY(deviation.relative > kGradient_tolerance);
}

namespace {

/// What the reference makes of a case, in double precision.
AnyOperation by_reference(const AnyOperation& source, Arena& arena) {
  ReferenceBackend reference;
  AnyOperation result = copy_operation(source, arena, RealTypes::all(DType::f64));
  execute(reference, result);
  return result;
}

}  // namespace

void TestOperations::comparison_notices_a_fault() {
  QFETCH(const int, index);
  const OperationCase& row = cases_[static_cast<std::size_t>(index)];
  const ArenaScope scope(arena_);
  const AnyOperation source = row.build(arena_);
  const AnyOperation expected = by_reference(source, arena_);
  AnyOperation actual = by_reference(source, arena_);
  QCOMPARE(compare(actual, expected, row.gain).share, 0.0);
  perturb(actual, expected, row.gain, 0.5);
  QVERIFY(compare(actual, expected, row.gain).share < 1);
  perturb(actual, expected, row.gain, 10);
  QVERIFY(compare(actual, expected, row.gain).share > 1);
  perturb(actual, expected, row.gain, std::numeric_limits<double>::quiet_NaN());
  QVERIFY(compare(actual, expected, row.gain).share > 1);
}

void TestOperations::comparison_of_bf16_notices_a_fault() {
  QFETCH(const int, index);
  const OperationCase& row = cases_[static_cast<std::size_t>(index)];
  const ArenaScope scope(arena_);
  const AnyOperation source = row.build(arena_);
  const AnyOperation expected = by_reference(source, arena_);
  AnyOperation actual = copy_operation(source, arena_, storages().back().types);
  copy_outputs(actual, expected);
  QVERIFY(compare(actual, expected, row.gain).share <= 1);
  perturb(actual, expected, row.gain, 10);
  QVERIFY(compare(actual, expected, row.gain).share > 1);
  perturb(actual, expected, row.gain, std::numeric_limits<double>::quiet_NaN());
  QVERIFY(compare(actual, expected, row.gain).share > 1);
}

void TestOperations::support_is_reported_data() {
  QTest::addColumn<QString>("backend");
  QTest::addColumn<int>("operation");
  for (const std::string& backend : find_devices().usable_ids()) {
    for (int operation = 0; operation < kOperations; ++operation) {
      const std::string name(name_of(static_cast<Operation>(operation)));
      QTest::newRow((backend + ": " + name).c_str())
          << QString::fromStdString(backend) << operation;
    }
  }
}

void TestOperations::support_is_reported() {
  QFETCH(const QString, backend);
  QFETCH(const int, operation);
  const std::unique_ptr<Backend> tested =
      make_backend({.threads = 1, .device = backend.toStdString()});
  std::string supported;
  for (const std::int64_t head_dim : {0, 16, 32, 64, 80, 96, 112, 128}) {
    const bool yes = tested->supports(static_cast<Operation>(operation), head_dim);
    if (yes) supported += " " + std::to_string(head_dim);
    // The CPU runs everything but FP8: it is what remains where nothing else can.
    QVERIFY2(yes || backend != "cpu" || is_of_fp8(static_cast<Operation>(operation)),
             ("heads of " + std::to_string(head_dim)).c_str());
  }
  qInfo("heads of%s", supported.c_str());
}

void TestOperations::every_operation_has_cases() {
  for (int operation = 0; operation < kOperations; ++operation) {
    // Those of cards alone are in the table of cards (fp8_cases.h).
    if (is_of_fp8(static_cast<Operation>(operation))) continue;
    const bool found = std::any_of(cases_.begin(), cases_.end(), [&](const OperationCase& row) {
      return row.operation == static_cast<Operation>(operation);
    });
    QVERIFY2(found, std::string(name_of(static_cast<Operation>(operation))).c_str());
  }
}

void TestOperations::cleanupTestCase() {
  for (const auto& [operation, deviation] : worst_) {
    qInfo("%s: worst error %.3f of the tolerance (%s)", operation.c_str(), deviation.share,
          deviation.place.c_str());
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestOperations)
#include "test_operations.moc"
