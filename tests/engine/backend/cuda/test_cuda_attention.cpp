// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "engine/backend/cuda/attention_tile.h"
#include "engine/backend/cuda/kernels.h"
#include "tests/engine/backend/attention_cases.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/engine/backend/cuda/thread_orders.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

#ifdef ATHANOR_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

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
  void supports_its_head_sizes();
  void matches_reference_data();
  void matches_reference();
  void eight_rows_lie_in_eight_sets_of_banks();
  void an_empty_tile_before_the_document_counts_nothing();
  void a_key_too_few_is_noticed_data();
  void a_key_too_few_is_noticed();
  void a_skipped_tile_is_noticed_data() { a_key_too_few_is_noticed_data(); }
  void a_skipped_tile_is_noticed();
  void a_key_too_many_is_noticed();
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
  for (const cuda::emulation::Options& order : cuda::thread_orders()) {
    // Sanitizers are slow, and find the same in every order.
    if (kSanitized && order.order != cuda::emulation::ThreadOrder::reverse) continue;
    const cuda::emulation::ThreadOrderScope ordered(order);
    QVERIFY2(same_bits(actual, instance.run(arena_)),
             "other bits the second time, or in another order of threads");
  }
  const Deviation deviation = instance.deviation(actual, row.gain);
  std::string kind = row.name.substr(0, row.name.find(','));
  if (arithmetic_of(actual) == Arithmetic::compute_type) kind += " of one row";
  Deviation& worst = worst_[kind];
  if (deviation.share > worst.share) worst = {deviation.share, row.name + ", " + deviation.place};
  QVERIFY2(deviation.share <= 1, deviation.place.c_str());
}

namespace {

/// Where load_matrices reads a matrix, in sets of four banks, of which there are eight.
template <int kHeadDim>
bool banks_differ() {
  using Layout = cuda::TileLayout<kHeadDim>;
  for (int row = 0; row < cuda::kTileRows; row += 8) {
    for (int chunk = 0; chunk < Layout::kChunks; ++chunk) {
      std::set<int> banks;
      for (int i = 0; i < 8; ++i)
        banks.insert(Layout::at(row + i, chunk) / Layout::kChunk % 8);
      if (banks.size() != 8) return false;
    }
  }
  return true;
}

}  // namespace

void TestCudaAttention::eight_rows_lie_in_eight_sets_of_banks() {
  for (const std::int64_t head_dim : {16, 32, 64, 80, 96, 112, 128}) {
    bool differ = false;
    cuda::with_head_dim(head_dim, [&]<int kHeadDim>() { differ = banks_differ<kHeadDim>(); });
    QVERIFY2(differ, std::to_string(head_dim).c_str());
  }
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

/// Of a tile's rows, all but the last begin to see in the third tile of keys.
void TestCudaAttention::an_empty_tile_before_the_document_counts_nothing() {
  const ArenaScope scope(arena_);
  const OperationCase row = case_named("attention, 1x152 tokens, 1/1 heads of 16");
  AnyOperation source = row.build(arena_);
  std::int32_t* starts = document_starts(source).as<std::int32_t>();
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

/// No row but the first of a document sees the document's first key.
void TestCudaAttention::a_key_too_few_is_noticed() {
  QFETCH(const QString, name);
  const ArenaScope scope(arena_);
  const Deviation deviation =
      with_fault(case_named(name.toStdString()), arena_, [](AnyOperation& operation) {
        const Tensor& starts = document_starts(operation);
        for (std::int32_t row = 0; row < starts.rows(); ++row) {
          std::int32_t& start = starts.as<std::int32_t>()[row];
          start = std::min(start + 1, row);
        }
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

/// Moves rows of values by one, the first `columns` of each; the row left over stays.
void move_rows(const Tensor& tensor, std::int64_t columns, bool down) {
  const std::int64_t width = tensor.row_elements();
  const std::int64_t rows = tensor.rows() - 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t to = down ? rows - i : i;
    const std::int64_t from = down ? to - 1 : to + 1;
    for (std::int64_t column = 0; column < columns; ++column)
      set_value(tensor, to * width + column, value_at(tensor, from * width + column));
  }
}

/// Each query is computed one row later, so that it sees the key after its own.
void TestCudaAttention::a_key_too_many_is_noticed() {
  const ArenaScope scope(arena_);
  const OperationCase row = case_named("attention, 1x200 tokens, 1/1 heads of 32");
  const Instance instance(row, arena_);
  AnyOperation later = copy_operation(instance.rounded, arena_, kBf16_rows);
  const auto& op = std::get<Attention>(later);
  move_rows(op.qkv, op.shape.query_width(), true);
  launch(later);
  const AnyOperation whole = instance.run(arena_);
  const auto& right = std::get<Attention>(whole);
  const std::int64_t last = op.out.rows() - 1;
  move_rows(op.out, op.out.row_elements(), false);
  move_rows(op.lse, op.lse.row_elements(), false);
  copy_values(op.out.slice_rows(last, 1), right.out.slice_rows(last, 1));
  copy_values(op.lse.slice_rows(last, 1), right.lse.slice_rows(last, 1));
  QVERIFY(instance.deviation(whole, row.gain).share <= 1);
  QVERIFY(instance.deviation(later, row.gain).share > 1);
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
