// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <cstring>

#include "engine/io/gguf.h"
#include "tests/support/expect_error.h"

using namespace athanor;

class TestGguf : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  std::filesystem::path path() const { return folder_.filePath("m.gguf").toStdString(); }

  static GgufMetadata sample_metadata() {
    GgufMetadata metadata;
    metadata.add("general.architecture", "llama");
    metadata.add("count", std::uint32_t{7});
    metadata.add("ratio", 0.25F);
    metadata.add("yes", true);
    metadata.add("words", std::vector<std::string>{"a", "", "ccc"});
    metadata.add("numbers", std::vector<std::int32_t>{1, -2, 3});
    return metadata;
  }

  static std::vector<GgufTensor> sample_tensors() {
    return {{"one", NumberFormat::f32, {3}}, {"two", NumberFormat::q8_0, {2, 32}}};
  }

  void write_sample() const {
    GgufWriter writer(path(), sample_metadata(), sample_tensors());
    std::vector<std::byte> data(3 * 4 + 2 * 34);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::byte>(i);
    // Across the border of the two, which the file pads.
    writer.write(std::span(data).first(5));
    writer.write(std::span(data).subspan(5, 40));
    writer.write(std::span(data).subspan(45));
    writer.commit();
  }

  /// A file made by hand: what the writer would never write.
  class Bytes {
   public:
    template <class T>
    Bytes& number(T value) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      return *this;
    }
    Bytes& text(std::string_view text) {
      number(std::uint64_t{text.size()});
      bytes += text;
      return *this;
    }
    static Bytes head(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
      Bytes made;
      made.bytes = "GGUF";
      return made.number(version).number(tensors).number(values);
    }
    Bytes& tensor(std::string_view name, std::vector<std::uint64_t> extents, std::uint32_t type,
                  std::uint64_t offset) {
      text(name).number(static_cast<std::uint32_t>(extents.size()));
      for (const std::uint64_t extent : extents)
        number(extent);
      return number(type).number(offset);
    }
    Bytes& data(std::size_t count) {
      bytes.append((32 - bytes.size() % 32) % 32 + count, '\0');
      return *this;
    }

    std::string bytes;
  };

  void expect_damage(const std::string& bytes, const std::string& part,
                     ErrorKind kind = ErrorKind::damaged) const {
    write_file_atomically(path(), bytes);
    ATHANOR_EXPECT_ERROR(GgufFile::open(path()), kind, part);
  }

 private slots:
  void reads_what_was_written() {
    write_sample();
    QCOMPARE(static_cast<std::int64_t>(std::filesystem::file_size(path())),
             GgufWriter::file_bytes(sample_metadata(), sample_tensors()));
    const GgufFile file = GgufFile::open(path());
    QCOMPARE(file.text("general.architecture"), std::optional<std::string>("llama"));
    QCOMPARE(file.integer("count"), std::optional<std::int64_t>(7));
    QCOMPARE(file.real("count"), std::optional<double>(7));
    QCOMPARE(file.real("ratio"), std::optional<double>(0.25));
    QCOMPARE(file.boolean("yes"), std::optional<bool>(true));
    QCOMPARE(*file.texts("words"), (std::vector<std::string>{"a", "", "ccc"}));
    QCOMPARE(*file.integers("numbers"), (std::vector<std::int32_t>{1, -2, 3}));
    QVERIFY(!file.integer("absent") && !file.texts("absent") && !file.has("absent"));
    QCOMPARE(file.keys().size(), std::size_t{6});
    QCOMPARE(file.tensors().size(), std::size_t{2});
    const StoredTensor& two = file.tensors()[1];
    QCOMPARE(two.name, std::string("two"));
    QVERIFY(two.format == NumberFormat::q8_0 && two.shape == Shape({2, 32}));
    QCOMPARE(two.data.size(), std::size_t{68});
    QCOMPARE(static_cast<int>(two.data[0]), 12);
    QCOMPARE(static_cast<int>(two.data[67]), 79);
    QCOMPARE(static_cast<int>(file.tensors()[0].data[11]), 11);
  }

  void values_of_another_kind_are_refused() {
    write_sample();
    const GgufFile file = GgufFile::open(path());
    const auto damaged = ErrorKind::damaged;
    ATHANOR_EXPECT_ERROR(file.integer("ratio"), damaged, "\"ratio\" is not a whole number");
    ATHANOR_EXPECT_ERROR(file.real("words"), damaged, "\"words\" is not a number");
    ATHANOR_EXPECT_ERROR(file.boolean("count"), damaged, "\"count\" is not true or false");
    ATHANOR_EXPECT_ERROR(file.text("count"), damaged, "\"count\" is not a text");
    ATHANOR_EXPECT_ERROR(file.texts("numbers"), damaged, "\"numbers\" is not a list of texts");
    ATHANOR_EXPECT_ERROR(file.integers("words"), damaged, "\"words\" is not a list of whole");
    ATHANOR_EXPECT_ERROR(file.reals("numbers"), damaged, "\"numbers\" is not a list of numbers");
    ATHANOR_EXPECT_ERROR(file.integers("count"), damaged, "\"count\" is not a list");
  }

  void every_truncation_is_noticed() {
    write_sample();
    const std::string good = read_small_file(path());
    // The padding after the last tensor holds nothing.
    const std::size_t needed = good.size() - (32 - 68 % 32);
    for (std::size_t size = 0; size < needed; ++size)
      expect_damage(good.substr(0, size), "m.gguf is not a usable GGUF file: at byte ");
  }

  void versions() {
    write_file_atomically(path(), Bytes::head(0, 0, 2).bytes);
    QVERIFY(GgufFile::open(path()).tensors().empty());
    expect_damage(Bytes::head(0, 0, 1).bytes, "of version 1;", ErrorKind::unsupported);
    expect_damage(Bytes::head(0, 0, 4).bytes, "of version 4;", ErrorKind::unsupported);
    expect_damage(Bytes::head(0, 0, 3U << 24).bytes, "big-endian", ErrorKind::unsupported);
  }

  void claims_are_not_trusted_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const Bytes& made, const char* part) {
      QTest::newRow(name) << QByteArray::fromStdString(made.bytes) << QByteArray(part);
    };
    constexpr std::uint64_t kVast = std::uint64_t{1} << 62;
    const auto list = [](std::uint32_t element, std::uint64_t count) {
      return Bytes::head(0, 1).text("k").number(std::uint32_t{9}).number(element).number(count);
    };
    row("tensors", Bytes::head(kVast, 0), "claims 4611686018427387904 tensors");
    row("values", Bytes::head(0, kVast), "claims 4611686018427387904 metadata values");
    row("key", Bytes::head(0, 1).number(kVast).number(kVast), "a key would need");
    row("text", Bytes::head(0, 1).text("k").number(std::uint32_t{8}).number(kVast),
        "the value of \"k\" would need");
    row("type", Bytes::head(0, 1).text("k").number(std::uint32_t{13}), "has the type 13");
    row("list", list(6, kVast), "claims 4611686018427387904 values");
    row("list of texts", list(8, kVast), "would need 8 bytes");
    row("list of lists", list(9, 1).number(std::uint64_t{0}), "a list of lists");
    row("key twice",
        Bytes::head(0, 2)
            .text("k")
            .number(std::uint32_t{0})
            .number('\1')
            .text("k")
            .number(std::uint32_t{0})
            .number('\1'),
        "\"k\" comes a second time");
    row("alignment",
        Bytes::head(0, 1)
            .text("general.alignment")
            .number(std::uint32_t{4})
            .number(std::uint32_t{24}),
        "\"general.alignment\" is 24");
    row("rank", Bytes::head(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0), "has 5 dimensions");
    row("extent", Bytes::head(1, 0).tensor("t", {kVast}, 0, 0), "an extent of");
    row("product", Bytes::head(1, 0).tensor("t", {1U << 31, 1U << 28, 8}, 0, 0), "an extent of 8");
    row("beyond", Bytes::head(1, 0).tensor("t", {9}, 0, 0).data(32), "takes 36, but there are 32");
    row("offset", Bytes::head(1, 0).tensor("t", {1}, 0, kVast).data(32), "lies at byte");
    row("unaligned", Bytes::head(1, 0).tensor("t", {1}, 0, 4).data(32), "lies at byte 4");
    row("no whole blocks", Bytes::head(1, 0).tensor("t", {33}, 8, 0).data(96), "33 numbers");
    row("overlap", Bytes::head(2, 0).tensor("t", {9}, 0, 0).tensor("u", {1}, 0, 32).data(64),
        "the tensors \"t\" and \"u\" overlap");
  }
  void claims_are_not_trusted() {
    QFETCH(const QByteArray, bytes);
    QFETCH(const QByteArray, part);
    expect_damage(bytes.toStdString(), part.toStdString());
  }

  void types_that_cannot_be_read_have_no_data() {
    write_file_atomically(path(), Bytes::head(1, 0).tensor("t", {256}, 16, 0).data(66).bytes);
    const GgufFile file = GgufFile::open(path());
    QVERIFY(!file.tensors()[0].format);
    QCOMPARE(file.tensors()[0].type, std::string("ggml type 16"));
    QVERIFY(file.tensors()[0].data.empty());
  }

  void numbers_beyond_signed_ones_are_refused() {
    write_file_atomically(
        path(),
        Bytes::head(0, 1).text("k").number(std::uint32_t{10}).number(~std::uint64_t{0}).bytes);
    ATHANOR_EXPECT_ERROR(GgufFile::open(path()).integer("k"), ErrorKind::damaged,
                         "a number that can be used");
  }

  void nothing_is_left_of_a_file_that_was_not_finished() {
    { const GgufWriter writer(path().string() + "2", sample_metadata(), sample_tensors()); }
    QVERIFY(!std::filesystem::exists(path().string() + "2"));
  }
};

QTEST_APPLESS_MAIN(TestGguf)
#include "test_gguf.moc"
