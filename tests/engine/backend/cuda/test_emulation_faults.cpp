// SPDX-License-Identifier: GPL-3.0-or-later
#include <QCoreApplication>
#include <QProcess>
#include <QtTest/QtTest>
#include <cmath>
#include <regex>
#include <stdexcept>

#include "engine/base/error.h"
#include "tests/engine/backend/cuda/right_kernels.h"
#include "tests/engine/backend/cuda/thread_orders.h"
#include "tests/engine/backend/cuda/wrong_kernels.h"

namespace athanor::cuda {

/// What the emulation says of kernels and launches that are wrong.
class TestEmulationFaults : public QObject {
  Q_OBJECT

 private slots:
  void a_wrong_kernel_is_named_data();
  void a_wrong_kernel_is_named();
  void the_line_is_named();
  void a_missing_barrier_shows_in_another_order();
  void what_was_not_waited_for_is_no_number();
  void address_sanitizer_guards_shared_memory();
  void a_kernels_own_exception_comes_through();
  void many_failures_leave_nothing_behind();
  // The last: ThreadSanitizer loses track of fibers in a process that started another.
  void thread_sanitizer_sees_a_missing_barrier_in_any_order();
};

namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kThread_sanitizer = true;
#else
constexpr bool kThread_sanitizer = false;
#endif
#ifdef __SANITIZE_ADDRESS__
constexpr bool kAddress_sanitizer = true;
#else
constexpr bool kAddress_sanitizer = false;
#endif
/// Set for the process that ThreadSanitizer is to end.
constexpr const char* kRace_variable = "ATHANOR_RACE_IN_THIS_PROCESS";

std::vector<float> rising(std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(i);
  return out;
}

/// Whether each 64 hold what thread i / 2 put there for thread i.
bool right_without_barrier() {
  const std::vector<float> in = rising(128);
  const std::vector<float> out = reversed_without_barrier(in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (out[i] != in[i / 64 * 64 + i % 64 / 2]) return false;
  }
  return true;
}

bool next_launch_works() {
  std::vector<float> ones(64);
  fill_with_ones(ones);
  return ones == std::vector<float>(64, 1.0F);
}

}  // namespace

void TestEmulationFaults::a_wrong_kernel_is_named_data() {
  QTest::addColumn<const WrongKernel*>("wrong");
  for (const std::span<const WrongKernel> all : {wrong_kernels(), wrong_warps()}) {
    for (const WrongKernel& wrong : all)
      QTest::newRow(wrong.name) << &wrong;
  }
}

void TestEmulationFaults::a_wrong_kernel_is_named() {
  QFETCH(const WrongKernel*, wrong);
  if (wrong->out_of_bounds && kAddress_sanitizer) {
    QSKIP("AddressSanitizer ends the program here; its guards have a test of their own");
  }
  if (wrong->out_of_bounds && kThread_sanitizer) {
    QSKIP("ThreadSanitizer ends the program here: threads write to the same place");
  }
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    std::string message;
    try {
      wrong->run();
    } catch (const Error& error) {
      QCOMPARE(error.kind(), ErrorKind::internal);
      message = std::regex_replace(error.message(), std::regex("\\.cu:[0-9]+"), ".cu:#");
    }
    QVERIFY2(!message.empty(), "nothing was found");
    const bool says = message.find(wrong->says) != std::string::npos &&
                      message.find(wrong->site) != std::string::npos;
    QVERIFY2(says, message.c_str());
    QVERIFY(next_launch_works());
  }
}

void TestEmulationFaults::the_line_is_named() {
  std::string message;
  try {
    fail_at_a_known_line();
  } catch (const Error& error) {
    message = error.message();
  }
  const std::string site = "wrong_kernels.cu:" + std::to_string(known_line()) + ", block (0, 0, 0)";
  QVERIFY2(message.find(site) != std::string::npos, message.c_str());
}

void TestEmulationFaults::a_missing_barrier_shows_in_another_order() {
  if (kThread_sanitizer) QSKIP("ThreadSanitizer ends the program here");
  using emulation::ThreadOrder;
  QVERIFY(right_without_barrier());
  {
    const emulation::ThreadOrderScope reverse(ThreadOrder::reverse);
    QVERIFY(!right_without_barrier());
  }
  {
    const emulation::ThreadOrderScope random(ThreadOrder::random, 1);
    QVERIFY(!right_without_barrier());
  }
  QVERIFY(right_without_barrier());
}

void TestEmulationFaults::thread_sanitizer_sees_a_missing_barrier_in_any_order() {
  if (!kThread_sanitizer) QSKIP("Not built with ThreadSanitizer");
  if (qEnvironmentVariableIsSet(kRace_variable)) {
    right_without_barrier();
    return;
  }
  QProcess other;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert(kRace_variable, "1");
  other.setProcessEnvironment(environment);
  other.setProcessChannelMode(QProcess::MergedChannels);
  other.start(QCoreApplication::applicationFilePath(),
              {"thread_sanitizer_sees_a_missing_barrier_in_any_order"});
  QVERIFY(other.waitForFinished(120'000));
  const QByteArray output = other.readAll();
  QVERIFY2(output.contains("data race"), output.constData());
  QVERIFY2(output.contains("right_kernels.cu"), output.constData());
  QVERIFY(other.exitCode() != 0);
}

void TestEmulationFaults::what_was_not_waited_for_is_no_number() {
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    const std::vector<float> out = read_before_the_copy_lands();
    for (std::size_t i = 0; i < 32; ++i)
      QVERIFY(std::isnan(out[i]) && out[32 + i] == 2);
  }
}

void TestEmulationFaults::address_sanitizer_guards_shared_memory() {
  if (!kAddress_sanitizer) QSKIP("Not built with AddressSanitizer");
  for (const std::size_t bytes : {1, 7, 8, 100, 256, 50'001, 3}) {
    for (int launch = 0; launch < 2; ++launch)
      QVERIFY2(red_zones_stand(bytes), std::to_string(bytes).c_str());
  }
}

void TestEmulationFaults::a_kernels_own_exception_comes_through() {
  for (const emulation::Options& options : thread_orders()) {
    const emulation::ThreadOrderScope scope(options);
    QVERIFY_EXCEPTION_THROWN(throw_from_a_kernel(), std::length_error);
    QVERIFY(next_launch_works());
  }
}

void TestEmulationFaults::many_failures_leave_nothing_behind() {
  int failures = 0;
  for (int i = 0; i < 200; ++i) {
    const WrongKernel& wrong = wrong_kernels()[static_cast<std::size_t>(i % 3)];
    try {
      wrong.run();
    } catch (const Error&) {
      ++failures;
    }
  }
  QCOMPARE(failures, 200);
  QVERIFY(next_launch_works());
}

}  // namespace athanor::cuda

QTEST_GUILESS_MAIN(athanor::cuda::TestEmulationFaults)
#include "test_emulation_faults.moc"
