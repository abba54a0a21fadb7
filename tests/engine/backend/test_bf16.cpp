// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/base/philox.h"
#include "engine/tensor/bf16.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/support/in_arena.h"

namespace athanor {

/// What bf16 promises beyond closeness to the reference: which way it rounds, and which bits are
/// the same. Every test runs on each instruction set.
class TestBf16 : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void cleanup() { force_cpu_instruction_set({}); }

  void rounds_to_nearest_even_data() { sets(); }
  void rounds_to_nearest_even();
  void norm_again_has_the_bits_of_add_norm_data() { sets(); }
  void norm_again_has_the_bits_of_add_norm();
  void gradient_of_a_certain_target_is_kept_data() { sets(); }
  void gradient_of_a_certain_target_is_kept();
  void a_product_rounds_once_a_round_data() { sets(); }
  void a_product_rounds_once_a_round();
  void master_and_low_bits_give_the_same_data();
  void master_and_low_bits_give_the_same();
  void low_bits_keep_what_is_no_number_data() { sets(); }
  void low_bits_keep_what_is_no_number();
  void rounding_at_random_is_its_formula_data() { sets(); }
  void rounding_at_random_is_its_formula();
  void rounding_at_random_is_unbiased_data() { sets(); }
  void rounding_at_random_is_unbiased();

 private:
  static void sets();

  Arena arena_{std::int64_t{64} << 20};
  Arena::Mark empty_ = arena_.mark();
};

void TestBf16::sets() {
  QTest::addColumn<QString>("instruction_set");
  for (const std::string& set : cpu_instruction_sets())
    QTest::newRow(set.c_str()) << QString::fromStdString(set);
}

void TestBf16::init() {
  arena_.rewind(empty_);
  if (QTest::currentDataTag() == nullptr) return;
  QFETCH(const QString, instruction_set);
  force_cpu_instruction_set(instruction_set.toStdString());
}

namespace {

float number_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

std::uint32_t bits_of(float number) {
  return std::bit_cast<std::uint32_t>(number);
}

std::uint16_t half_at(const Tensor& tensor, std::int64_t index) {
  return tensor.as<std::uint16_t>()[index];
}

/// Around every kind of number: halves between neighbours, carries into the exponent, what is
/// subnormal, infinite or no number.
std::vector<float> hard_numbers() {
  std::vector<float> numbers;
  for (const std::uint32_t upper :
       {0x0000U, 0x0001U, 0x007FU, 0x0080U, 0x3F7FU, 0x3F80U, 0x3F81U, 0x40FFU, 0x7F7EU}) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      for (const std::uint32_t sign : {0U, 0x80000000U})
        numbers.push_back(number_of(sign | upper << 16 | low));
    }
  }
  for (const std::uint32_t bits : {0x7F7F0000U, 0x7F7F7FFFU, 0x7F7F8000U, 0x7F7FFFFFU, 0x7F800000U,
                                   0xFF800000U, 0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFFFFFFFFU})
    numbers.push_back(number_of(bits));
  return numbers;
}

Tensor tensor_of(Arena& arena, const std::vector<float>& numbers) {
  const Tensor tensor = zero_tensor(arena, DType::f32, {static_cast<std::int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), tensor.as<float>());
  return tensor;
}

}  // namespace

void TestBf16::rounds_to_nearest_even() {
  const std::vector<float> numbers = hard_numbers();
  const auto width = static_cast<std::int64_t>(numbers.size());
  const Tensor table = tensor_of(arena_, numbers).reshaped({1, width});
  const Tensor out = zero_tensor(arena_, DType::bf16, {1, width});
  make_cpu_backend(1)->run(
      Embedding{.table = table, .tokens = integer_tensor(arena_, {0}), .out = out});
  for (std::int64_t i = 0; i < width; ++i) {
    const float number = numbers[static_cast<std::size_t>(i)];
    if (std::isnan(number)) {
      QVERIFY(std::isnan(value_at(out, i)) && std::isnan(widened(nearest_bf16(number))));
      continue;
    }
    const Tensor wanted = zero_tensor(arena_, DType::bf16, {1});
    set_value(wanted, 0, number);
    QCOMPARE(half_at(out, i), half_at(wanted, 0));
    QCOMPARE(nearest_bf16(number).bits, half_at(wanted, 0));
  }
}

void TestBf16::norm_again_has_the_bits_of_add_norm() {
  for (const std::int64_t width : {37, 64, 200}) {
    for (const DType weight_type : {DType::f32, DType::bf16}) {
      const Shape shape{19, width};
      const AddNorm norm{.input = random_tensor(arena_, DType::bf16, shape, 1),
                         .branch = random_tensor(arena_, DType::bf16, shape, 2),
                         .dropout = {.rate = 0.1F, .seed = 3, .stream = 4},
                         .weight = random_tensor(arena_, weight_type, {width}, 5),
                         .sum = zero_tensor(arena_, DType::bf16, shape),
                         .out = zero_tensor(arena_, DType::bf16, shape),
                         .rstd = zero_tensor(arena_, DType::f32, {shape[0]})};
      const NormAgain again{.x = norm.sum,
                            .rstd = norm.rstd,
                            .weight = norm.weight,
                            .out = zero_tensor(arena_, DType::bf16, shape)};
      const auto backend = make_cpu_backend(2);
      backend->run(norm);
      backend->run(again);
      QVERIFY(std::ranges::equal(again.out.byte_span(), norm.out.byte_span()));
      // From the sum alone, as rows are that had no branch.
      const AddNorm alone{.input = norm.sum,
                          .branch = {},
                          .dropout = {},
                          .weight = norm.weight,
                          .sum = {},
                          .out = zero_tensor(arena_, DType::bf16, shape),
                          .rstd = zero_tensor(arena_, DType::f32, {shape[0]})};
      backend->run(alone);
      QVERIFY(std::ranges::equal(alone.out.byte_span(), norm.out.byte_span()));
      QVERIFY(std::ranges::equal(alone.rstd.byte_span(), norm.rstd.byte_span()));
    }
  }
}

/// A target of which the model is almost certain: in bf16 its probability is 1, but not the sum of
/// the others' 0.
void TestBf16::gradient_of_a_certain_target_is_kept() {
  constexpr std::int64_t kVocabulary = 41;
  constexpr std::int64_t kTarget = 3;
  const Tensor x = zero_tensor(arena_, DType::bf16, {1, 1});
  fill(x, 1);
  const Tensor weight = zero_tensor(arena_, DType::bf16, {kVocabulary, 1});
  set_value(weight, kTarget, 12);
  const HeadLoss op{.x = x,
                    .weight = weight,
                    .targets = integer_tensor(arena_, {kTarget}),
                    .losses = zero_tensor(arena_, DType::f32, {1}),
                    .gradient_scale = 1,
                    .d_x = zero_tensor(arena_, DType::bf16, {1, 1}),
                    .d_weight = zero_tensor(arena_, DType::bf16, {kVocabulary, 1}),
                    .logits = zero_tensor(arena_, DType::bf16, {1, kVocabulary})};
  make_cpu_backend(1)->run(op);
  const double others = (kVocabulary - 1) * std::exp(-12.0);
  QVERIFY(std::abs(value_at(op.losses, 0) / std::log1p(others) - 1) < 1e-5);
  const double wanted = -others / (1 + others);
  QVERIFY(std::abs(value_at(op.logits, kTarget) / wanted - 1) <= 0x1p-8);
  QVERIFY(std::abs(value_at(op.d_weight, kTarget) / wanted - 1) <= 0x1p-7);
}

void TestBf16::a_product_rounds_once_a_round() {
  // 2⁻⁸ vanishes beside 1 where it is rounded after each block of terms, but not their sum.
  constexpr std::int64_t kTerms = 1000;
  constexpr std::int64_t kTerms_of_two_rounds = 16384;
  for (const std::int64_t terms : {kTerms, kTerms_of_two_rounds}) {
    const LinearBackward op{.d_y = zero_tensor(arena_, DType::bf16, {terms, 3}),
                            .x = zero_tensor(arena_, DType::bf16, {terms, 5}),
                            .weight = zero_tensor(arena_, DType::bf16, {3, 5}),
                            .d_x = {},
                            .d_weight = zero_tensor(arena_, DType::bf16, {3, 5}),
                            .d_bias = zero_tensor(arena_, DType::bf16, {3})};
    fill(op.d_y, 0x1p-8);
    fill(op.x, 1);
    fill(op.d_weight, 256);
    fill(op.d_bias, 256);
    make_cpu_backend(2)->run(op);
    const double wanted = 256 + static_cast<double>(terms) * 0x1p-8;
    const Tensor rounded = zero_tensor(arena_, DType::bf16, {1});
    set_value(rounded, 0, wanted);
    for (std::int64_t i = 0; i < 15; ++i)
      QCOMPARE(half_at(op.d_weight, i), half_at(rounded, 0));
    for (std::int64_t i = 0; i < 3; ++i)
      QCOMPARE(half_at(op.d_bias, i), half_at(rounded, 0));
  }
}

namespace {

/// The halves of a number whose upper one is rounded to nearest, away from zero.
StoredWeights split(Arena& arena, const Tensor& numbers, bool with_low_bits) {
  const Shape shape = numbers.shape;
  StoredWeights to{.weights = zero_tensor(arena, DType::bf16, shape), .master = {}, .low_bits = {}};
  if (with_low_bits) {
    to.low_bits = zero_tensor(arena, DType::u16, shape);
  } else {
    to.master = zero_tensor(arena, DType::f32, shape);
    copy_values(to.master, numbers);
  }
  for (std::int64_t i = 0; i < numbers.elements(); ++i) {
    const std::uint32_t bits = bits_of(numbers.as<float>()[i]);
    to.weights.as<std::uint16_t>()[i] = static_cast<std::uint16_t>((bits + 0x8000) >> 16);
    if (with_low_bits) to.low_bits.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(bits);
  }
  return to;
}

AdamW step_of(Arena& arena, const StoredWeights& to, const Tensor& gradients) {
  return {.to = to,
          .gradients = gradients,
          .m = zero_tensor(arena, DType::f32, gradients.shape),
          .v = zero_tensor(arena, DType::f32, gradients.shape),
          .at = {.learning_rate = 1e-3F, .decay = 0.1F}};
}

AdamW8 coded_step_of(Arena& arena, const StoredWeights& to, const Tensor& gradients) {
  const Shape blocks{moment_blocks(gradients.elements())};
  return {.to = to,
          .gradients = gradients,
          .m = zero_tensor(arena, DType::u8, gradients.shape),
          .v = zero_tensor(arena, DType::u8, gradients.shape),
          .m_scale = zero_tensor(arena, DType::f32, blocks),
          .v_scale = zero_tensor(arena, DType::f32, blocks),
          .at = {.learning_rate = 1e-3F, .decay = 0.1F}};
}

/// A step that changes no number: without gradients, moments and decay.
AdamW still(Arena& arena, const StoredWeights& to) {
  AdamW op = step_of(arena, to, zero_tensor(arena, DType::f32, to.weights.shape));
  op.at.decay = 0;
  return op;
}

}  // namespace

void TestBf16::master_and_low_bits_give_the_same_data() {
  QTest::addColumn<QString>("instruction_set");
  QTest::addColumn<bool>("coded");
  for (const std::string& set : cpu_instruction_sets()) {
    QTest::newRow((set + ", adamw").c_str()) << QString::fromStdString(set) << false;
    QTest::newRow((set + ", 8-bit").c_str()) << QString::fromStdString(set) << true;
  }
}

void TestBf16::master_and_low_bits_give_the_same() {
  QFETCH(const bool, coded);
  constexpr std::int64_t kElements = 3001;
  constexpr std::int64_t kSteps = 20;
  const Tensor numbers = random_tensor(arena_, DType::f32, {kElements}, 1);
  const Tensor gradients = zero_tensor(arena_, DType::bf16, {kElements});
  const StoredWeights master = split(arena_, numbers, false);
  const StoredWeights low_bits = split(arena_, numbers, true);
  const auto backend = make_cpu_backend(2);
  AdamW steps[] = {step_of(arena_, master, gradients), step_of(arena_, low_bits, gradients)};
  AdamW8 coded_steps[] = {coded_step_of(arena_, master, gradients),
                          coded_step_of(arena_, low_bits, gradients)};
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const ArenaScope scope(arena_);
    copy_values(gradients, random_tensor(arena_, DType::f32, {kElements},
                                         100 + static_cast<std::uint64_t>(step)));
    for (const int which : {0, 1}) {
      steps[which].at.step = step;
      coded_steps[which].at.step = step;
      if (coded) {
        backend->run(coded_steps[which]);
      } else {
        backend->run(steps[which]);
      }
    }
    QVERIFY(std::ranges::equal(master.weights.byte_span(), low_bits.weights.byte_span()));
    for (std::int64_t i = 0; i < kElements; ++i) {
      const float number = master.master.as<float>()[i];
      const auto joined = static_cast<float>(joined_value(low_bits.weights, low_bits.low_bits, i));
      QCOMPARE(bits_of(joined), bits_of(number));
      QCOMPARE(half_at(master.weights, i),
               static_cast<std::uint16_t>((bits_of(number) + 0x8000) >> 16));
    }
  }
  QVERIFY(!std::ranges::equal(master.master.byte_span(), numbers.byte_span()));
}

void TestBf16::low_bits_keep_what_is_no_number() {
  const Tensor numbers = tensor_of(arena_, hard_numbers());
  const StoredWeights master = split(arena_, numbers, false);
  const StoredWeights low_bits = split(arena_, numbers, true);
  for (std::int64_t i = 0; i < numbers.elements(); ++i) {
    if (!std::isnan(numbers.as<float>()[i])) continue;
    low_bits.weights.as<std::uint16_t>()[i] = 0x7FC0;
    low_bits.low_bits.as<std::uint16_t>()[i] = 0;
  }
  const auto backend = make_cpu_backend(1);
  for (int step = 0; step < 2; ++step) {
    backend->run(still(arena_, master));
    backend->run(still(arena_, low_bits));
    for (std::int64_t i = 0; i < numbers.elements(); ++i) {
      const float number = numbers.as<float>()[i];
      const auto joined = static_cast<float>(joined_value(low_bits.weights, low_bits.low_bits, i));
      if (std::isnan(number)) {
        QVERIFY(std::isnan(joined) && std::isnan(value_at(low_bits.weights, i)));
        QVERIFY(std::isnan(value_at(master.weights, i)));
        continue;
      }
      QCOMPARE(bits_of(joined), bits_of(number));
      QCOMPARE(half_at(low_bits.weights, i), half_at(master.weights, i));
      QCOMPARE(std::isinf(value_at(low_bits.weights, i)),
               std::abs(number) >= number_of(0x7F7F8000));
    }
  }
}

void TestBf16::rounding_at_random_is_its_formula() {
  // A master's step tells which number is rounded; both go on from the same bf16.
  constexpr std::int64_t kElements = 20'011;
  const Tensor gradients = random_tensor(arena_, DType::f32, {kElements}, 2);
  const Tensor start = random_tensor(arena_, DType::bf16, {kElements}, 1);
  const Tensor numbers = zero_tensor(arena_, DType::f32, {kElements});
  copy_values(numbers, start);
  const Tensor first_weights = zero_tensor(arena_, DType::bf16, {kElements});
  for (const int threads : {1, 3}) {
    AdamW master = step_of(arena_, split(arena_, numbers, false), gradients);
    AdamW random =
        step_of(arena_, {.weights = zero_tensor(arena_, DType::bf16, {kElements})}, gradients);
    copy_values(random.to.weights, start);
    random.at.rounding.seed = 0xFEDCBA9876543210ULL;
    random.at.rounding.stream = 0x500000001ULL;
    const auto backend = make_cpu_backend(threads);
    backend->run(master);
    backend->run(random);
    const Philox words(random.at.rounding.seed, random.at.rounding.stream);
    for (std::int64_t i = 0; i < kElements; ++i) {
      const std::uint32_t bits = bits_of(master.to.master.as<float>()[i]);
      const std::uint32_t word = words.word(static_cast<std::uint64_t>(i));
      QCOMPARE(half_at(random.to.weights, i),
               static_cast<std::uint16_t>((bits + (word & 0xFFFF)) >> 16));
    }
    if (threads == 1) copy_values(first_weights, random.to.weights);
    QVERIFY(std::ranges::equal(random.to.weights.byte_span(), first_weights.byte_span()));
  }
}

void TestBf16::rounding_at_random_is_unbiased() {
  // From weights of 1, a step that goes to 1 + share · 2⁻⁷ for each of many elements.
  constexpr std::int64_t kElements = 100'000;
  constexpr double kSpacing = 0x1p-7;
  const auto backend = make_cpu_backend(2);
  for (const double share : {0.03125, 0.3, 0.5, 0.9}) {
    const ArenaScope scope(arena_);
    AdamW op = still(arena_, {.weights = zero_tensor(arena_, DType::bf16, {kElements})});
    fill(op.to.weights, 1);
    op.at.learning_rate = 1;
    op.at.decay = static_cast<float>(-share * kSpacing);
    op.at.rounding.seed = 7;
    backend->run(op);
    double sum = 0;
    for (std::int64_t i = 0; i < kElements; ++i) {
      const double weight = value_at(op.to.weights, i);
      QVERIFY(weight == 1 || weight == 1 + kSpacing);
      sum += (weight - 1) / kSpacing;
    }
    const double sigma = std::sqrt(share * (1 - share) / kElements);
    QVERIFY(std::abs(sum / kElements - share) < 4 * sigma);
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestBf16)
#include "test_bf16.moc"
