// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <bit>
#include <cmath>
#include <iostream>
#include <iterator>
#include <limits>

#include "engine/base/json.h"
#include "engine/io/number_format.h"

using namespace athanor;

namespace {

std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  const QByteArray bytes = QByteArray::fromHex(QByteArray::fromStdString(hex));
  const auto view =
      std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size())));
  return {view.begin(), view.end()};
}

std::optional<NumberFormat> format_named(std::string_view name) {
  constexpr auto kNames = names_of(NumberFormat{});
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return {};
  return static_cast<NumberFormat>(found - kNames.begin());
}

std::vector<float> widened_all(NumberFormat format, std::span<const std::byte> stored) {
  const auto blocks = static_cast<std::int64_t>(stored.size()) / bytes_per_block(format);
  std::vector<float> numbers(static_cast<std::size_t>(blocks * elements_per_block(format)));
  widen(format, stored, numbers);
  return numbers;
}

std::vector<std::byte> narrowed(NumberFormat format, const std::vector<float>& numbers) {
  std::vector<std::byte> stored(
      static_cast<std::size_t>(row_bytes(format, static_cast<std::int64_t>(numbers.size()))));
  return narrow(format, numbers, stored) ? stored : std::vector<std::byte>{};
}

}  // namespace

class TestNumberFormat : public QObject {
  Q_OBJECT

 private slots:
  /// Blocks and numbers from the gguf package: tests/golden/make_number_formats.py.
  void reads_what_gguf_reads_data() {
    QTest::addColumn<QByteArray>("format");
    QTest::addColumn<QByteArray>("blocks");
    QTest::addColumn<QByteArray>("numbers");
    const QByteArray root = qgetenv("ATHANOR_SOURCE_DIR");
    const Json samples = read_json_file(root.toStdString() + "/tests/golden/number_formats.json");
    QCOMPARE(samples.size(), std::size_t{kNumberFormats});
    for (const Json& sample : samples) {
      const auto text = [&](const char* field) {
        return QByteArray::fromStdString(sample.at(field).get<std::string>());
      };
      QTest::addRow("%s", text("format").constData())
          << text("format") << text("blocks") << text("numbers");
    }
  }
  void reads_what_gguf_reads() {
    QFETCH(const QByteArray, format);
    QFETCH(const QByteArray, blocks);
    QFETCH(const QByteArray, numbers);
    const std::optional<NumberFormat> known = format_named(format.toStdString());
    QVERIFY(known);
    const std::vector<std::byte> stored = bytes_of_hex(blocks.toStdString());
    const std::vector<float> found = widened_all(*known, stored);
    const QByteArray hex = QByteArray(reinterpret_cast<const char*>(found.data()),
                                      static_cast<qsizetype>(found.size() * sizeof(float)))
                               .toHex();
    QCOMPARE(hex, numbers);
  }

  void what_is_written_is_read_again_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<double>("step");
    const auto row = [](NumberFormat format, double step) {
      QTest::addRow("%s", name_of(format).data()) << static_cast<int>(format) << step;
    };
    row(NumberFormat::f32, 0);
    row(NumberFormat::f16, 0x1p-11);
    row(NumberFormat::bf16, 0x1p-8);
    // Half a step of the scale, and what the scale's own rounding to F16 moves the largest by. Of
    // q4_0's codes −8…7 the largest of the other sign is cut off by up to one step.
    row(NumberFormat::q8_0, 0.5 / 127 + 0x1p-11);
    row(NumberFormat::q4_0, 1.0 / 8 + 0x1p-11);
  }
  void what_is_written_is_read_again() {
    QFETCH(const int, format);
    QFETCH(const double, step);
    std::vector<float> numbers(64);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
    const auto as = static_cast<NumberFormat>(format);
    const std::vector<float> again = widened_all(as, narrowed(as, numbers));
    QCOMPARE(again.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      QVERIFY(std::abs(again[i] - numbers[i]) <= step);
  }

  void what_cannot_be_stored_is_told() {
    std::vector<float> numbers(32, 1.0F);
    for (const NumberFormat format : {NumberFormat::f32, NumberFormat::f16, NumberFormat::bf16,
                                      NumberFormat::q4_0, NumberFormat::q8_0}) {
      QVERIFY(!narrowed(format, numbers).empty());
      for (const float bad :
           {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        numbers[17] = bad;
        QVERIFY(narrowed(format, numbers).empty());
      }
      numbers[17] = 1;
    }
    numbers[0] = 65519;
    QVERIFY(!narrowed(NumberFormat::f16, numbers).empty());
    numbers[0] = 65520;
    QVERIFY(narrowed(NumberFormat::f16, numbers).empty());
    QVERIFY(!narrowed(NumberFormat::bf16, numbers).empty());
  }

  void nothing_is_nothing() {
    for (int format = 0; format < kNumberFormats; ++format)
      widen(static_cast<NumberFormat>(format), {}, {});
    QVERIFY(narrow(NumberFormat::f32, {}, {}));
  }
};

namespace {

/// For comparing with peers: blocks on standard input, their numbers on standard output.
int widen_input(const std::string& name) {
  const std::optional<NumberFormat> format = format_named(name);
  if (!format) return 1;
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  const std::vector<float> numbers = widened_all(*format, std::as_bytes(std::span(input)));
  std::cout.write(reinterpret_cast<const char*>(numbers.data()),
                  static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::string_view(arguments[1]) == "--widen") return widen_input(arguments[2]);
  TestNumberFormat test;
  return QTest::qExec(&test, count, arguments);
}
#include "test_number_format.moc"
