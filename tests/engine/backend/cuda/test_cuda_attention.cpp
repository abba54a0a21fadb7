// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cstring>
#include <map>

#include "engine/backend/cuda/kernels.h"
#include "tests/engine/backend/attention_cases.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

enum class ThreadOrder { forward, reverse, random };

/// In which order the emulation runs a block's threads where the kernel leaves it open.
void set_order(ThreadOrder order) {
  cuemu::opt.order = static_cast<cuemu::Order>(order);
}

void launch(const AnyOperation& operation) {
  const cuda::Stream stream = nullptr;
  if (const auto* op = std::get_if<Attention>(&operation)) cuda::attention(stream, *op);
  if (const auto* op = std::get_if<AttentionBackward>(&operation))
    cuda::attention_backward(stream, *op);
  if (const auto* op = std::get_if<DecodeAttention>(&operation))
    cuda::decode_attention(stream, *op);
}

/// A single decoded row is computed in FP32.
Arithmetic arithmetic_of(const AnyOperation& operation) {
  const auto* decode = std::get_if<DecodeAttention>(&operation);
  return decode != nullptr && decode->qkv.rows() == 1 ? Arithmetic::compute_type
                                                      : Arithmetic::tensor_cores;
}

const RealTypes kBf16_rows{.rows = DType::bf16};

/// A case in the types that the kernels take, and what the reference makes of the same numbers.
struct Instance {
  AnyOperation rounded;
  AnyOperation expected;

  Instance(const OperationCase& row, Arena& arena)
      : rounded(copy_operation(row.build(arena), arena, kBf16_rows)),
        expected(copy_operation(rounded, arena, RealTypes::all(DType::f64))) {
    ReferenceBackend reference;
    execute(reference, expected);
  }
  AnyOperation run(Arena& arena) const { return run(rounded, arena); }
  static AnyOperation run(const AnyOperation& from, Arena& arena) {
    AnyOperation result = copy_operation(from, arena, kBf16_rows);
    launch(result);
    return result;
  }
  Deviation deviation(const AnyOperation& actual, double gain) const {
    return compare(actual, expected, gain, arithmetic_of(actual));
  }
};

std::vector<OperationCase> cases_of_kernels() {
  std::vector<OperationCase> cases;
  add_attention_cases(cases);
  add_tiled_attention_cases(cases);
  std::erase_if(cases, [](const OperationCase& row) {
    const bool covered = row.operation == Operation::attention ||
                         row.operation == Operation::attention_backward ||
                         row.operation == Operation::decode_attention;
    return !covered || !cuda::attention_supports(row.head_dim);
  });
  return cases;
}

/// The case whose name begins so.
OperationCase case_named(const std::string& beginning) {
  for (const OperationCase& row : cases_of_kernels()) {
    if (row.name.starts_with(beginning)) return row;
  }
  throw std::runtime_error("no case " + beginning);
}

}  // namespace

/// Attention's kernels against the reference, by the emulation.
class TestCudaAttention : public QObject {
  Q_OBJECT

 private slots:
  void init() { set_order(ThreadOrder::forward); }
  void supports_its_head_sizes();
  void matches_reference_data();
  void matches_reference();
  void an_empty_tile_before_the_document_counts_nothing();
  void a_key_too_few_is_noticed_data();
  void a_key_too_few_is_noticed();
  void a_skipped_tile_is_noticed_data() { a_key_too_few_is_noticed_data(); }
  void a_skipped_tile_is_noticed();
  void a_later_key_is_noticed();
  void a_missing_head_of_a_group_is_noticed();
  void a_decoded_row_without_its_own_key_is_noticed();
  void cleanupTestCase();

 private:
  const std::vector<OperationCase> cases_ = cases_of_kernels();
  Arena arena_{kCase_arena_bytes};
  std::map<std::string, Deviation> worst_;
};

void TestCudaAttention::supports_its_head_sizes() {
  for (const std::int64_t head_dim : {16, 32, 64, 80, 96, 112, 128})
    QVERIFY2(cuda::attention_supports(head_dim), std::to_string(head_dim).c_str());
  for (const std::int64_t head_dim : {0, 8, 48, 72, 256})
    QVERIFY2(!cuda::attention_supports(head_dim), std::to_string(head_dim).c_str());
}

void TestCudaAttention::matches_reference_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < cases_.size(); ++i)
    QTest::addRow("%d: %s", static_cast<int>(i), cases_[i].name.c_str()) << static_cast<int>(i);
}

void TestCudaAttention::matches_reference() {
  QFETCH(const int, index);
  const OperationCase& row = cases_[static_cast<std::size_t>(index)];
  const ArenaScope scope(arena_);
  const Instance instance(row, arena_);
  const AnyOperation actual = instance.run(arena_);
  QVERIFY2(same_bits(actual, instance.run(arena_)), "other bits the second time");
  for (const ThreadOrder order : {ThreadOrder::reverse, ThreadOrder::random}) {
    set_order(order);
    QVERIFY2(same_bits(actual, instance.run(arena_)), "other bits in another order of threads");
  }
  const Deviation deviation = instance.deviation(actual, row.gain);
  std::string kind = row.name.substr(0, row.name.find(','));
  if (arithmetic_of(actual) == Arithmetic::compute_type) kind += " of one row";
  Deviation& worst = worst_[kind];
  if (deviation.share > worst.share) worst = {deviation.share, row.name + ", " + deviation.place};
  QVERIFY2(deviation.share <= 1, deviation.place.c_str());
}

namespace {

Tensor& document_starts(AnyOperation& operation) {
  if (auto* forward = std::get_if<Attention>(&operation)) return forward->document_starts;
  return std::get<AttentionBackward>(operation).document_starts;
}

/// Deviation of what the kernels make of a case with `fault` in its arguments, from what it is.
template <class Fault>
Deviation with_fault(const OperationCase& row, Arena& arena, const Fault& fault) {
  const Instance instance(row, arena);
  AnyOperation faulty = copy_operation(instance.rounded, arena, kBf16_rows);
  fault(faulty);
  return instance.deviation(Instance::run(faulty, arena), row.gain);
}

}  // namespace

/// Rows of the last document begin to see in the third tile of keys: the first two hold none.
void TestCudaAttention::an_empty_tile_before_the_document_counts_nothing() {
  const ArenaScope scope(arena_);
  const OperationCase row = case_named("attention, 1x152 tokens, 1/1 heads of 16");
  AnyOperation source = row.build(arena_);
  std::int32_t* starts = document_starts(source).as<std::int32_t>();
  // One query that sees all within a tile of queries that see little.
  for (int i = 131; i < 152; ++i)
    starts[i] = i == 151 ? 0 : 131;
  const AnyOperation rounded = copy_operation(source, arena_, kBf16_rows);
  AnyOperation expected = copy_operation(rounded, arena_, RealTypes::all(DType::f64));
  ReferenceBackend reference;
  execute(reference, expected);
  const Deviation deviation =
      compare(Instance::run(rounded, arena_), expected, row.gain, Arithmetic::tensor_cores);
  QVERIFY2(deviation.share <= 1, deviation.place.c_str());
}

void TestCudaAttention::a_key_too_few_is_noticed_data() {
  QTest::addColumn<QString>("name");
  for (const char* operation : {"attention", "attention backward"}) {
    for (const char* shape : {"1x144 tokens, 4/1 heads of 80", "1x200 tokens, 1/1 heads of 32",
                              "1x270 tokens, 2/1 heads of 128"}) {
      QTest::addRow("%s, %s", operation, shape)
          << QString("%1, %2").arg(QString(operation), QString(shape));
    }
  }
}

/// One row in the middle does not see the first key of its document.
void TestCudaAttention::a_key_too_few_is_noticed() {
  QFETCH(const QString, name);
  const ArenaScope scope(arena_);
  const Deviation deviation =
      with_fault(case_named(name.toStdString()), arena_, [](AnyOperation& operation) {
        const Tensor& starts = document_starts(operation);
        starts.as<std::int32_t>()[starts.rows() / 2] += 1;
      });
  QVERIFY2(deviation.share > 1, deviation.place.c_str());
}

/// The last row does not see the first 32 keys of its document.
void TestCudaAttention::a_skipped_tile_is_noticed() {
  QFETCH(const QString, name);
  const ArenaScope scope(arena_);
  const Deviation deviation =
      with_fault(case_named(name.toStdString()), arena_, [](AnyOperation& operation) {
        const Tensor& starts = document_starts(operation);
        std::int32_t& last = starts.as<std::int32_t>()[starts.rows() - 1];
        last = std::min(last + 32, static_cast<std::int32_t>(starts.rows() - 1));
      });
  QVERIFY2(deviation.share > 1, deviation.place.c_str());
}

/// A row that sees the next key has what decoding gives when that key is its own: the keys and
/// values are those of one row later.
void TestCudaAttention::a_later_key_is_noticed() {
  const ArenaScope scope(arena_);
  const OperationCase row = case_named("decode attention, 1x70 tokens, 4/1 heads of 64");
  const Deviation deviation = with_fault(row, arena_, [](AnyOperation& operation) {
    auto& decode = std::get<DecodeAttention>(operation);
    decode.first_position += 1;
  });
  QVERIFY2(deviation.share > 1, deviation.place.c_str());
}

/// Gradients of keys and values lack what the last of four query heads gives.
void TestCudaAttention::a_missing_head_of_a_group_is_noticed() {
  const ArenaScope scope(arena_);
  const OperationCase row = case_named("attention backward, 1x144 tokens, 4/1 heads of 80");
  const Instance instance(row, arena_);
  AnyOperation whole = instance.run(arena_);
  AnyOperation faulty = copy_operation(instance.rounded, arena_, kBf16_rows);
  const auto& lacking = std::get<AttentionBackward>(faulty);
  const std::int64_t size = lacking.shape.head_dim;
  const std::int64_t width = lacking.shape.query_width();
  for (std::int64_t i = 0; i < lacking.d_out.rows(); ++i) {
    for (std::int64_t column = width - size; column < width; ++column)
      set_value(lacking.d_out, i * width + column, 0);
  }
  const AnyOperation part = Instance::run(faulty, arena_);
  const Tensor& from = std::get<AttentionBackward>(part).d_qkv;
  const Tensor& to = std::get<AttentionBackward>(whole).d_qkv;
  const std::int64_t row_width = lacking.shape.qkv_width();
  for (const std::int64_t first : {width, width + size}) {
    AnyOperation one = copy_operation(whole, arena_, kBf16_rows);
    copy_outputs(one, whole);
    const Tensor& changed = std::get<AttentionBackward>(one).d_qkv;
    for (std::int64_t i = 0; i < to.rows(); ++i) {
      for (std::int64_t column = first; column < first + size; ++column) {
        const std::int64_t place = i * row_width + column;
        set_value(changed, place, value_at(from, place));
      }
    }
    QVERIFY(instance.deviation(one, row.gain).share > 1);
  }
  QVERIFY(instance.deviation(whole, row.gain).share <= 1);
}

void TestCudaAttention::a_decoded_row_without_its_own_key_is_noticed() {
  const ArenaScope scope(arena_);
  const OperationCase row = case_named("decode attention, 1x1 tokens, 4/1 heads of 64 from 300");
  const Instance instance(row, arena_);
  AnyOperation shorter = copy_operation(instance.rounded, arena_, kBf16_rows);
  std::get<DecodeAttention>(shorter).first_position -= 1;
  launch(shorter);
  AnyOperation actual = instance.run(arena_);
  copy_values(std::get<DecodeAttention>(actual).out, std::get<DecodeAttention>(shorter).out);
  QVERIFY(instance.deviation(actual, row.gain).share > 1);
}

void TestCudaAttention::cleanupTestCase() {
  for (const auto& [operation, deviation] : worst_) {
    qInfo("%s: worst error %.3f of the tolerance (%s)", operation.c_str(), deviation.share,
          deviation.place.c_str());
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCudaAttention)
#include "test_cuda_attention.moc"
