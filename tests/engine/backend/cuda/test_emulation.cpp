// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <limits>
#include <thread>

#include "engine/backend/cuda/device.h"
#include "engine/base/philox.h"
#include "tests/engine/backend/cuda/right_kernels.h"
#include "tests/engine/backend/cuda/thread_orders.h"

namespace athanor::cuda {

/// CUDA's built-ins as the emulation has them, against what plain C++ computes.
class TestEmulation : public QObject {
  Q_OBJECT

 private slots:
  void threads_know_their_places();
  void warp_functions_give_what_cuda_does();
  void shared_memory_is_shared();
  void copies_land_where_they_are_waited_for();
  void named_barriers_order_halves();
  void atomics_count_every_thread();
  void products_of_fragments_are_matrix_products();
  void fresh_shared_memory_is_no_number();
  void arithmetic_is_that_of_cuda();
  void bits_are_counted();
  void smaller_and_larger_have_the_types_of_cuda();
  void bf16_is_nearest();
  void e4m3_codes_are_their_own();
  void e4m3_halves_go_to_the_even_code();
  void e4m3_saturates();
  void host_threads_launch_at_once();
  void no_blocks_state_is_left_for_the_next_launch();
};

namespace {

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  std::vector<float> out(count);
  const Philox random(seed, 0);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = 4 * random.uniform(i) - 2;
  return out;
}

std::vector<Bf16> halves(std::size_t count, std::uint64_t seed) {
  std::vector<Bf16> out;
  for (const float x : numbers(count, seed))
    out.push_back(nearest_bf16(x));
  return out;
}

/// What an E4M3 code that is a number stands for.
double value_of(int code) {
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -size : size;
}

}  // namespace

void TestEmulation::threads_know_their_places() {
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const std::vector<Place> found = places();
    std::size_t at = 0;
    for (unsigned block = 0; block < 12; ++block) {
      for (unsigned z = 0; z < 3; ++z) {
        for (unsigned y = 0; y < 4; ++y) {
          for (unsigned x = 0; x < 8; ++x, ++at) {
            const Place& place = found[at];
            QVERIFY(place.thread[0] == x && place.thread[1] == y && place.thread[2] == z);
            QCOMPARE(place.block[0], block % 3);
            QCOMPARE(place.block[1], block / 3 % 2);
            QCOMPARE(place.block[2], block / 6);
            QVERIFY(std::equal(place.threads, place.threads + 3, kPlace_threads));
            QVERIFY(std::equal(place.blocks, place.blocks + 3, kPlace_blocks));
          }
        }
      }
    }
  }
}

void TestEmulation::warp_functions_give_what_cuda_does() {
  const std::vector<float> in = numbers(96, 3);
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const std::vector<WarpResults> found = warp_results(in);
    int positive = 0;
    for (const float x : in)
      positive += x > 0 ? 1 : 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t lane = i % 32;
      const float* const warp = in.data() + i - lane;
      const WarpResults& to = found[i];
      QCOMPARE(to.indexed, warp[7 * lane % 32]);
      QCOMPARE(to.indexed_by_8, warp[lane / 8 * 8 + 3]);
      QCOMPARE(to.crossed, warp[lane ^ 5]);
      QCOMPARE(to.down, warp[lane < 29 ? lane + 3 : lane]);
      QCOMPARE(to.down_by_8, warp[lane % 8 < 5 ? lane + 3 : lane]);
      QCOMPARE(to.up, warp[lane >= 3 ? lane - 3 : lane]);
      QCOMPARE(to.up_by_16, warp[lane % 16 >= 3 ? lane - 3 : lane]);
      QCOMPARE(to.wide, static_cast<double>(warp[lane ^ 1]) + 1e-9);
      unsigned ballot = 0;
      bool any = false;
      bool all = true;
      int sum = 0;
      for (int other = 0; other < 32; ++other) {
        if (warp[other] > 0) ballot |= 1U << other;
        any = any || warp[other] > 1.5F;
        all = all && warp[other] > -1.5F;
        sum += static_cast<int>(100 * warp[other]);
      }
      QCOMPARE(to.ballot, ballot);
      QCOMPARE(to.any != 0, any);
      QCOMPARE(to.all != 0, all);
      QCOMPARE(to.any_of_none, 0);
      QCOMPARE(to.sum, sum);
      QCOMPARE(to.sum_of_some, lane % 2 == 1 ? 256U : 0U);
      QCOMPARE(to.count, positive);
      QVERIFY(to.some != 0 && to.none == 0);
    }
  }
}

void TestEmulation::shared_memory_is_shared() {
  const std::vector<float> in = numbers(512, 5);
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const std::vector<float> sums = block_sums(in);
    const std::vector<float> turned = reversed(in);
    for (std::size_t block = 0; block < 4; ++block) {
      double sum = 0;
      for (std::size_t i = 0; i < 128; ++i)
        sum += static_cast<double>(in[128 * block + i]);
      QVERIFY(std::abs(static_cast<double>(sums[block]) - sum) < 1e-4);
    }
    for (std::size_t i = 0; i < in.size(); ++i)
      QCOMPARE(turned[i], in[i / 64 * 64 + 63 - i % 64]);
  }
}

void TestEmulation::copies_land_where_they_are_waited_for() {
  const std::vector<float> in = numbers(5 * 256, 6);
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const std::vector<float> out = piped(in);
    for (std::size_t i = 0; i < in.size(); ++i)
      QCOMPARE(out[i], in[i] + 1);
  }
}

void TestEmulation::named_barriers_order_halves() {
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    QCOMPARE(turns(), 12127);
  }
}

void TestEmulation::atomics_count_every_thread() {
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const AtomicResults found = atomics();
    QCOMPARE(found.sum, 64);
    QCOMPARE(found.unsigned_sum, 63U * 64 / 2);
    QCOMPARE(found.wide_sum, 64ULL << 33);
    QCOMPARE(found.float_sum, 32.0F);
    QCOMPARE(found.most, 53);
    QCOMPARE(found.least, -10);
    QCOMPARE(found.swaps, 64U);
    QCOMPARE(found.last_block, 1U);
    QCOMPARE(found.exchanged, 1.0F);
    for (const int drawn : found.tickets)
      QCOMPARE(drawn, 1);
  }
}

void TestEmulation::products_of_fragments_are_matrix_products() {
  const std::vector<Bf16> a = halves(256, 7);
  const std::vector<Bf16> b = halves(256, 8);
  const auto expected = [&](std::size_t row, std::size_t column, std::size_t columns) {
    double sum = 0;
    for (std::size_t k = 0; k < 16; ++k) {
      sum += static_cast<double>(widened(a[row * 16 + k])) *
             static_cast<double>(widened(b[k * columns + column]));
    }
    return sum;
  };
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const std::vector<float> d = product(a, b);
    for (std::size_t i = 0; i < 256; ++i)
      QVERIFY(std::abs(static_cast<double>(d[i]) - expected(i / 16, i % 16, 16)) < 1e-4);
    const std::vector<float> with_one = product_by_elements(a, std::span(b).first(128));
    for (std::size_t i = 0; i < 128; ++i)
      QVERIFY(std::abs(static_cast<double>(with_one[i]) - 1 - expected(i / 8, i % 8, 8)) < 1e-4);
  }
}

void TestEmulation::fresh_shared_memory_is_no_number() {
  for (const float x : poisons())
    QVERIFY(std::isnan(x));
}

void TestEmulation::arithmetic_is_that_of_cuda() {
  for (const float x : numbers(100, 9)) {
    QCOMPARE(__expf(x), std::exp(x));
    QCOMPARE(__logf(x * x), std::log(x * x));
    QCOMPARE(exp2f(x), std::exp2(x));
    QVERIFY(std::abs(rsqrtf(x * x) * std::abs(x) - 1) < 1e-6F);
    QCOMPARE(__fdividef(x, 3), x / 3);
    // One rounding, not two.
    QCOMPARE(__fmaf_rn(x, x, -x * x), std::fma(x, x, -x * x));
    QCOMPARE(fmaf(x, 3, 1), std::fma(x, 3.0F, 1.0F));
    QCOMPARE(__fadd_rn(x, 3), x + 3);
    QCOMPARE(__fmul_rn(x, 3), x * 3);
    QCOMPARE(__uint_as_float(__float_as_uint(x)), x);
    QCOMPARE(__int_as_float(__float_as_int(x)), x);
  }
  QCOMPARE(__float_as_uint(-2.0F), 0xC0000000U);
  QCOMPARE(__float_as_int(-0.0F), std::numeric_limits<int>::min());
  QCOMPARE(__dp4a(0x01FF7F80, 0x02030405, 10), 1 * 2 - 3 + 127 * 4 - 128 * 5 + 10);
  QCOMPARE(__dp4a(0x01FF7F80U, 0x02030405U, 10U), 1U * 2 + 255 * 3 + 127 * 4 + 128 * 5 + 10);
}

void TestEmulation::bits_are_counted() {
  QCOMPARE(__popc(0xF0F00001U), 9);
  QCOMPARE(__ffs(0), 0);
  QCOMPARE(__ffs(1), 1);
  QCOMPARE(__ffs(0x50), 5);
  QCOMPARE(__ffs(std::numeric_limits<int>::min()), 32);
  QCOMPARE(__clz(0), 32);
  QCOMPARE(__clz(1), 31);
  QCOMPARE(__clz(-1), 0);
}

void TestEmulation::smaller_and_larger_have_the_types_of_cuda() {
  static_assert(std::is_same_v<decltype(min(1, 2)), int>);
  static_assert(std::is_same_v<decltype(min(1, 2U)), unsigned>);
  static_assert(std::is_same_v<decltype(max(1LL, 2)), long long>);
  static_assert(std::is_same_v<decltype(max(short{1}, short{2})), int>);
  static_assert(std::is_same_v<decltype(max(1.0F, 2.0F)), float>);
  static_assert(std::is_same_v<decltype(max(1.0F, 2.0)), double>);
  QCOMPARE(::min(-3, 2), -3);
  QCOMPARE(::max(-3, 2), 2);
  QCOMPARE(::max(-3, 2U), std::numeric_limits<unsigned>::max() - 2);
  const float none = std::numeric_limits<float>::quiet_NaN();
  QCOMPARE(::max(none, 1.0F), 1.0F);
  QCOMPARE(::min(1.0F, none), 1.0F);
}

void TestEmulation::bf16_is_nearest() {
  const float next_up = 1 + 0x1p-7F;
  QCOMPARE(to_bf16(1 + 0x1p-8F).bits, 0x3F80);
  QCOMPARE(to_bf16(next_up + 0x1p-8F).bits, 0x3F82);
  QCOMPARE(to_bf16(std::nextafter(1 + 0x1p-8F, 2.0F)).bits, 0x3F81);
  QCOMPARE(to_bf16(std::numeric_limits<float>::quiet_NaN()).bits, 0x7FFF);
  QCOMPARE(to_float(Bf16{0xC040}), -3.0F);
  QCOMPARE(pack_bf16(1, -3), 0xC0403F80U);
}

void TestEmulation::e4m3_codes_are_their_own() {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7F) == 0x7F) continue;
    QCOMPARE(int{to_e4m3(static_cast<float>(value_of(code)))}, code);
  }
  QCOMPARE(value_of(0x7E), 448.0);
  QCOMPARE(value_of(0x38), 1.0);
}

void TestEmulation::e4m3_halves_go_to_the_even_code() {
  for (const int sign : {0, 0x80}) {
    for (int code = 0; code < 0x7E; ++code) {
      const float half =
          static_cast<float>((value_of(code | sign) + value_of((code + 1) | sign)) / 2);
      const int even = code % 2 == 0 ? code : code + 1;
      QCOMPARE(int{to_e4m3(half)}, even | sign);
      QCOMPARE(int{to_e4m3(std::nextafter(half, 0.0F))}, code | sign);
      const float far = sign == 0 ? 1000.0F : -1000.0F;
      QCOMPARE(int{to_e4m3(std::nextafter(half, far))}, (code + 1) | sign);
    }
  }
}

void TestEmulation::e4m3_saturates() {
  for (const float large :
       {449.0F, 464.0F, 480.0F, 1e30F, std::numeric_limits<float>::infinity()}) {
    QCOMPARE(int{to_e4m3(large)}, 0x7E);
    QCOMPARE(int{to_e4m3(-large)}, 0xFE);
  }
  QCOMPARE(int{to_e4m3(std::numeric_limits<float>::quiet_NaN())}, 0x7F);
  QCOMPARE(int{to_e4m3(-std::numeric_limits<float>::quiet_NaN())}, 0x7F);
  QCOMPARE(int{to_e4m3(std::numeric_limits<float>::denorm_min())}, 0);
  QCOMPARE(int{to_e4m3(-0.0F)}, 0x80);
}

void TestEmulation::host_threads_launch_at_once() {
  const std::vector<float> in = numbers(1024, 11);
  const std::vector<float> expected = block_sums(in);
  std::vector<std::vector<float>> found(3);
  std::vector<std::thread> threads;
  for (std::vector<float>& sums : found) {
    threads.emplace_back([&in, &sums] {
      for (int i = 0; i < 20; ++i)
        sums = block_sums(in);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::vector<float>& sums : found)
    QCOMPARE(sums, expected);
}

void TestEmulation::no_blocks_state_is_left_for_the_next_launch() {
  const std::vector<float> in = numbers(128, 12);
  for (int i = 0; i < 50; ++i) {
    many_barriers(i);
    std::vector<float> last(256);
    many_threads(3, last.data());
    QCOMPARE(last, std::vector<float>(256, 2.0F));
    QCOMPARE(reversed(in)[0], in[63]);
    QCOMPARE(turns(), 12127);
  }
}

}  // namespace athanor::cuda

QTEST_GUILESS_MAIN(athanor::cuda::TestEmulation)
#include "test_emulation.moc"
