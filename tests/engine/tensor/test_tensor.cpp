// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tensor/arena.h"
#include "engine/tensor/buffer.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

/// Some takes and rewinds, as a step makes them.
std::vector<Tensor> take_some(Arena& arena) {
  std::vector<Tensor> tensors;
  tensors.push_back(arena.take(MemoryRole::weights, DType::f32, {10, 3}));
  const Arena::Mark mark = arena.mark();
  tensors.push_back(arena.take(MemoryRole::activations, DType::f32, {1000}));
  tensors.push_back(arena.take(MemoryRole::batch, DType::i32, {7}));
  arena.rewind(mark);
  tensors.push_back(arena.take(MemoryRole::logits, DType::f64, {2, 100}));
  return tensors;
}

}  // namespace

/// Shapes, views, memory and the plan of it.
class TestTensor : public QObject {
  Q_OBJECT

 private slots:
  void shapes_count_and_print();
  void tensors_know_their_size();
  void rows_are_sliced_in_place();
  void buffer_is_zeroed_and_moves();
  void recording_plans_what_is_then_taken();
  void tensors_are_aligned_and_apart();
  void rewinding_reuses_memory();
  void peak_is_kept_by_role();
  void scope_rewinds();
  void both_ends_share_the_memory();
  void recording_knows_lifetimes();
  void sizes_beyond_64_bits_are_refused();
  void overflow_is_an_error();
  void impossible_buffer_is_an_error();
};

void TestTensor::shapes_count_and_print() {
  const Shape shape{2, 3, 5};
  QCOMPARE(shape.rank(), 3);
  QCOMPARE(shape.elements(), std::int64_t{30});
  QCOMPARE(shape.text(), std::string("[2, 3, 5]"));
  QCOMPARE(Shape{}.elements(), std::int64_t{1});
  QVERIFY((Shape{2, 3} == Shape{2, 3}));
  QVERIFY(!(Shape{2, 3} == Shape{3, 2}));
}

void TestTensor::tensors_know_their_size() {
  QVERIFY(!Tensor{}.present());
  const Tensor tensor{nullptr, DType::f64, {2, 3, 5}};
  QVERIFY(tensor.present());
  QCOMPARE(tensor.bytes(), std::int64_t{240});
  QCOMPARE(tensor.row_elements(), std::int64_t{15});
  QCOMPARE((Tensor{nullptr, DType::f32, {0, 4}}.row_elements()), std::int64_t{0});
}

void TestTensor::rows_are_sliced_in_place() {
  const Buffer buffer(24 * 4);
  const Tensor tensor{buffer.data(), DType::f32, {6, 4}};
  for (int i = 0; i < 24; ++i)
    tensor.as<float>()[i] = static_cast<float>(i);
  const Tensor slice = tensor.slice_rows(2, 3);
  QVERIFY((slice.shape == Shape{3, 4}));
  QCOMPARE(slice.as<float>()[0], 8.0F);
  QCOMPARE(slice.span<float>().back(), 19.0F);
  const Tensor flat = tensor.reshaped({24});
  QCOMPARE(flat.slice_rows(23, 1).as<float>()[0], 23.0F);
  QVERIFY((tensor.reshaped({2, 3, 2, 2}).slice_rows(1, 1).shape == Shape{1, 3, 2, 2}));
  QVERIFY((tensor.reshaped({2, 3, 4}).slice_rows(0, 0).shape == Shape{0, 3, 4}));
}

void TestTensor::buffer_is_zeroed_and_moves() {
  Buffer buffer(10000);
  for (const std::byte byte : buffer.span())
    QVERIFY(byte == std::byte{0});
  std::byte* data = buffer.data();
  Buffer moved(std::move(buffer));
  QCOMPARE(moved.data(), data);
  Buffer assigned;
  QCOMPARE(assigned.bytes(), std::int64_t{0});
  assigned = std::move(moved);
  QCOMPARE(assigned.data(), data);
  QCOMPARE(assigned.bytes(), std::int64_t{10000});
}

void TestTensor::recording_plans_what_is_then_taken() {
  Arena recording;
  QVERIFY(recording.recording());
  const std::vector<Tensor> planned = take_some(recording);
  Arena real(recording.plan().peak_bytes);
  QVERIFY(!real.recording());
  const std::vector<Tensor> taken = take_some(real);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    QVERIFY(planned[i].data == nullptr);
    QVERIFY(taken[i].data != nullptr);
    QVERIFY(planned[i].shape == taken[i].shape);
  }
  QCOMPARE(real.plan().peak_bytes, recording.plan().peak_bytes);
  QCOMPARE(real.allocated_bytes(), recording.plan().peak_bytes);
  QCOMPARE(real.mark(), recording.mark());
}

void TestTensor::tensors_are_aligned_and_apart() {
  Arena arena(1 << 16);
  const Tensor first = arena.take(MemoryRole::workspace, DType::f32, {1});
  const Tensor second = arena.take(MemoryRole::workspace, DType::f32, {17});
  const Tensor third = arena.take(MemoryRole::workspace, DType::i32, {1});
  for (const Tensor& tensor : {first, second, third}) {
    QCOMPARE(reinterpret_cast<std::uintptr_t>(tensor.data) % Arena::kAlignment_bytes, 0U);
  }
  QCOMPARE(second.data - first.data, std::ptrdiff_t{64});
  QCOMPARE(third.data - second.data, std::ptrdiff_t{128});
}

void TestTensor::rewinding_reuses_memory() {
  Arena arena(1 << 12);
  const Arena::Mark mark = arena.mark();
  const Tensor first = arena.take(MemoryRole::workspace, DType::f32, {100});
  arena.rewind(mark);
  const Tensor second = arena.take(MemoryRole::activations, DType::f32, {50});
  QCOMPARE(second.data, first.data);
}

void TestTensor::peak_is_kept_by_role() {
  Arena arena;
  take_some(arena);
  const Arena::Plan& plan = arena.plan();
  QCOMPARE(plan.of(MemoryRole::weights), std::int64_t{128});
  QCOMPARE(plan.of(MemoryRole::activations), std::int64_t{4032});
  QCOMPARE(plan.of(MemoryRole::batch), std::int64_t{64});
  // The logits came after the peak.
  QCOMPARE(plan.of(MemoryRole::logits), std::int64_t{0});
  QCOMPARE(plan.peak_bytes, std::int64_t{128 + 4032 + 64});
  QCOMPARE(name_of(MemoryRole::optimizer), std::string_view("optimizer"));
}

void TestTensor::scope_rewinds() {
  Arena arena(1 << 12);
  const Arena::Mark before = arena.mark();
  {
    const ArenaScope scope(arena);
    arena.take(MemoryRole::workspace, DType::f32, {100});
    QVERIFY(arena.mark().low_bytes > before.low_bytes);
  }
  QCOMPARE(arena.mark(), before);
}

void TestTensor::both_ends_share_the_memory() {
  Arena arena(1024);
  const Tensor low = arena.take(MemoryRole::activations, DType::f32, {16});
  const Arena::Mark mark = arena.mark();
  const Tensor high = arena.borrow(MemoryRole::workspace, DType::f32, {32});
  QCOMPARE(high.data - low.data, std::ptrdiff_t{1024 - 128});
  const Tensor kept = arena.take(MemoryRole::activations, DType::f32, {16});
  QCOMPARE(kept.data - low.data, std::ptrdiff_t{64});
  // What was borrowed goes without what was taken meanwhile, and the other way round.
  arena.rewind_borrowed(mark);
  QCOMPARE(arena.mark(), (Arena::Mark{128, 0}));
  const Tensor again = arena.borrow(MemoryRole::workspace, DType::f32, {200});
  QCOMPARE(again.data + 832 - low.data, std::ptrdiff_t{1024});
  arena.rewind_taken(mark);
  QCOMPARE(arena.mark(), (Arena::Mark{64, 832}));
  QCOMPARE(arena.plan().peak_bytes, std::int64_t{960});
  ATHANOR_EXPECT_ERROR(arena.take(MemoryRole::batch, DType::f32, {48}), ErrorKind::internal,
                       "more memory than was planned");
}

void TestTensor::recording_knows_lifetimes() {
  Arena arena;
  arena.begin(Phase::forward);
  arena.take(MemoryRole::activations, DType::f32, {16}, {"kept", 2});
  {
    const ArenaScope scope(arena);
    arena.borrow(MemoryRole::workspace, DType::f32, {32}, {"lent"});
  }
  arena.begin(Phase::backward);
  arena.borrow(MemoryRole::workspace, DType::f32, {64}, {"more"});
  const std::vector<Arena::Record>& records = arena.records();
  QCOMPARE(records.size(), std::size_t{3});
  QCOMPARE(records[0].name.text(), std::string("kept of layer 3"));
  QCOMPARE(records[0].first_moment, std::int64_t{1});
  QCOMPARE(records[0].end_moment, std::int64_t{0});
  QCOMPARE(records[1].first_moment, std::int64_t{2});
  QCOMPARE(records[1].end_moment, std::int64_t{3});
  QVERIFY(records[1].borrowed && !records[0].borrowed);
  QCOMPARE(arena.moments(), std::int64_t{4});
  QCOMPARE(arena.phases().back().moment, std::int64_t{3});
  QCOMPARE(arena.plan().peak_bytes, std::int64_t{64 + 256});
  QCOMPARE(arena.plan().peak_moment, std::int64_t{4});
  QVERIFY(arena.plan().peak_phase == Phase::backward);
}

void TestTensor::sizes_beyond_64_bits_are_refused() {
  Arena arena;
  constexpr std::int64_t kHuge = std::int64_t{1} << 33;
  ATHANOR_EXPECT_ERROR(arena.take(MemoryRole::activations, DType::f32, {kHuge, kHuge}),
                       ErrorKind::invalid_argument, "larger than any computer's memory");
  arena.take(MemoryRole::activations, DType::f32, {std::int64_t{1} << 58});
  ATHANOR_EXPECT_ERROR(arena.take(MemoryRole::activations, DType::f32, {std::int64_t{1} << 58}),
                       ErrorKind::invalid_argument, "more memory than any computer has");
}

void TestTensor::overflow_is_an_error() {
  Arena arena(128);
  arena.take(MemoryRole::workspace, DType::f32, {32});
  ATHANOR_EXPECT_ERROR(arena.take(MemoryRole::workspace, DType::f32, {1}), ErrorKind::internal,
                       "more memory than was planned");
}

void TestTensor::impossible_buffer_is_an_error() {
  ATHANOR_EXPECT_ERROR(Buffer(std::int64_t{1} << 60), ErrorKind::io, "MiB that are needed");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestTensor)
#include "test_tensor.moc"
