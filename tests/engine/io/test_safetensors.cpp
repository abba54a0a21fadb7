// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <cstring>

#include "engine/base/checksum.h"
#include "engine/io/safetensors.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestSafetensors : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::filesystem::path path() const { return folder_.filePath("w.safetensors").toStdString(); }

  void write_raw(const std::string& header, std::size_t data_bytes,
                 std::uint64_t header_bytes) const {
    std::string file(8, '\0');
    std::memcpy(file.data(), &header_bytes, 8);
    write_file_atomically(path(), file + header + std::string(data_bytes, '\0'));
  }

  static Tensor view(std::vector<float>& values, Shape shape) {
    return {reinterpret_cast<std::byte*>(values.data()), DType::f32, shape};
  }

 private slots:
  void reads_what_was_written() {
    std::vector<float> odd{1, -2, 3.5F};
    std::vector<float> matrix{0, 1, 2, 3, 4, 5};
    std::vector<double> wide{1.25, -1e300};
    std::vector<std::uint8_t> codes{0, 127, 255};
    std::vector<std::uint16_t> halves{0x3F80, 0xC000, 0x7F80};
    std::vector<std::uint16_t> low_bits{0, 0x8000, 0xFFFF};
    const std::vector<NamedTensor> tensors{
        {"codes", {reinterpret_cast<std::byte*>(codes.data()), DType::u8, {3}}},
        {"halves", {reinterpret_cast<std::byte*>(halves.data()), DType::bf16, {3}}},
        {"low bits", {reinterpret_cast<std::byte*>(low_bits.data()), DType::u16, {3}}},
        {"odd", view(odd, {3})},
        {"wide", {reinterpret_cast<std::byte*>(wide.data()), DType::f64, {2}}},
        {"layer.0.matrix", view(matrix, {2, 3})},
        {"none", view(odd, {0, 7})}};
    const std::uint64_t sum = write_safetensors(path(), tensors, {{"kind", "test \"quoted\""}});
    const SafetensorsFile file = SafetensorsFile::open(path());
    QCOMPARE(file.file_checksum(), sum);
    const std::string bytes = read_small_file(path());
    QCOMPARE(checksum(std::as_bytes(std::span(bytes))), sum);
    QCOMPARE(file.metadata().at("kind"), std::string("test \"quoted\""));
    QCOMPARE(file.tensors().size(), tensors.size());
    for (const NamedTensor& entry : tensors) {
      const Tensor found = file.find(entry.name, entry.tensor.dtype, entry.tensor.shape);
      QVERIFY(std::ranges::equal(found.byte_span(), entry.tensor.byte_span()));
    }
    const auto data = reinterpret_cast<std::uintptr_t>(file.find("wide", DType::f64, {2}).data);
    QCOMPARE(data % 8, std::uintptr_t{0});
    const auto odd_data = reinterpret_cast<std::uintptr_t>(file.find("odd", DType::f32, {3}).data);
    QCOMPARE(odd_data % 4, std::uintptr_t{0});
    QVERIFY(bytes.find(R"("dtype":"BF16")") != std::string::npos);
    QVERIFY(bytes.find(R"("dtype":"U16")") != std::string::npos);
    const auto half_data =
        reinterpret_cast<std::uintptr_t>(file.find("halves", DType::bf16, {3}).data);
    QCOMPARE(half_data % 2, std::uintptr_t{0});
    ATHANOR_EXPECT_ERROR(file.find("halves", DType::u16, {3}), ErrorKind::damaged, "halves");
    ATHANOR_EXPECT_ERROR(file.find("absent", DType::f32, {3}), ErrorKind::damaged, "absent");
    ATHANOR_EXPECT_ERROR(file.find("odd", DType::f32, {4}), ErrorKind::damaged, "[3]");
    ATHANOR_EXPECT_ERROR(file.find("odd", DType::f64, {3}), ErrorKind::damaged, "odd");
  }

  void an_empty_file_is_a_file() {
    write_safetensors(path(), {});
    QVERIFY(SafetensorsFile::open(path()).tensors().empty());
  }

  void refuses_to_write_nonsense() {
    std::vector<float> values{1};
    const Tensor good = view(values, {1});
    Tensor integers = good;
    integers.dtype = DType::i32;
    ATHANOR_EXPECT_ERROR(write_safetensors(path(), std::vector<NamedTensor>{{"i", integers}}),
                         ErrorKind::internal, "floating-point");
    ATHANOR_EXPECT_ERROR(
        write_safetensors(path(), std::vector<NamedTensor>{{"a", good}, {"a", good}}),
        ErrorKind::internal, "a");
    ATHANOR_EXPECT_ERROR(
        write_safetensors(path(), std::vector<NamedTensor>{{"__metadata__", good}}),
        ErrorKind::internal, "__metadata__");
  }

  void every_truncation_is_noticed() {
    std::vector<float> values{1, 2, 3};
    write_safetensors(path(), std::vector<NamedTensor>{{"a", view(values, {3})}});
    const std::string good = read_small_file(path());
    for (std::size_t size = 0; size < good.size(); ++size) {
      write_file_atomically(path(), good.substr(0, size));
      ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::damaged, "w.safetensors");
    }
    write_file_atomically(path(), good + "12345678");
    ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::damaged, "its data at");
  }

  void damaged_headers_data() {
    QTest::addColumn<QByteArray>("header");
    QTest::addColumn<int>("data_bytes");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const char* header, int data_bytes, const char* part) {
      QTest::newRow(name) << QByteArray(header) << data_bytes << QByteArray(part);
    };
    row("not JSON", "{\"a\":", 0, "line 1");
    row("list", "[1]", 0, "JSON object");
    row("entry", R"({"a":3})", 0, "entry a");
    row("metadata", R"({"__metadata__":3})", 0, "__metadata__");
    row("metadata value", R"({"__metadata__":{"k":3}})", 0, "__metadata__.k");
    row("no dtype", R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "a.dtype");
    row("no shape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "a.shape");
    row("rank", R"({"a":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4]}})", 4, "a.shape");
    row("negative", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "a.shape[0]");
    row("fraction", R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, "a.shape[0]");
    row("overflow", R"({"a":{"dtype":"F32","shape":[4294967296,4294967297],"data_offsets":[0,4]}})",
        4, "a.shape[1]");
    row("huge", R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
        "a.shape[0]");
    row("no offsets", R"({"a":{"dtype":"F32","shape":[1]}})", 4, "a.data_offsets");
    row("one offset", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4,
        "a.data_offsets");
    row("reversed", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "bytes 4 to 0");
    row("beyond", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "the data has 4");
    row("size", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "shape [2]");
    row("unaligned size", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}})", 5,
        "5 bytes");
    row("hole", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "instead of 0");
    row("overlap",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
        8, "instead of 8");
    row("rest", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8, "its data at 8");
  }
  void damaged_headers() {
    QFETCH(QByteArray, header);
    QFETCH(int, data_bytes);
    QFETCH(QByteArray, part);
    std::string text = header.toStdString();
    while (text.size() % 8 != 0)
      text.push_back(' ');
    write_raw(text, static_cast<std::size_t>(data_bytes), text.size());
    ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::damaged, part.toStdString());
    ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::damaged, "w.safetensors");
  }

  void huge_header_lengths_are_refused() {
    for (const std::uint64_t length :
         {std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
      write_raw("{}", 0, length);
      ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::damaged, "claims");
    }
  }

  void other_number_types_are_named() {
    const std::string header = R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})";
    write_raw(header, 4, header.size());
    ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::unsupported, " F16");
    ATHANOR_EXPECT_ERROR(SafetensorsFile::open(path()), ErrorKind::unsupported, "BF16");
  }
};

QTEST_APPLESS_MAIN(TestSafetensors)
#include "test_safetensors.moc"
