// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <filesystem>

#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/token_encoder.h"
#include "engine/data/tokenizer.h"
#include "engine/data/tokenizer_description.h"
#include "tests/support/expect_error.h"

using namespace athanor;
namespace fs = std::filesystem;

/// What `tokenizers`, tiktoken and SentencePiece made of the same texts with the same files
/// (tests/golden/record_tokenizers.py).
class TestTokenizerGolden : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void ids_are_the_peers_data();
  void ids_are_the_peers();
  void saved_tokenizers_are_the_same_data() { ids_are_the_peers_data(); }
  void saved_tokenizers_are_the_same();
  void byte_level_texts_come_back_data() { ids_are_the_peers_data(); }
  void byte_level_texts_come_back();
  void sentence_piece_ids_are_the_peers();
  void cut_texts_give_the_same_ids_data() { ids_are_the_peers_data(); }
  void cut_texts_give_the_same_ids();

 private:
  static Tokenizer load(const Json& entry) {
    return Tokenizer::load(folder() / entry["file"].get<std::string>(),
                           entry.value("pattern", std::string()));
  }
  static fs::path folder() {
    return fs::path(qEnvironmentVariable("ATHANOR_SOURCE_DIR").toStdString()) /
           "tests/golden/tokenizers";
  }
  const Json& entry_of_row() { return samples_["cases"][static_cast<std::size_t>(row_)]; }

  Json samples_;
  std::vector<std::string> texts_;
  int row_ = 0;
};

void TestTokenizerGolden::initTestCase() {
  QVERIFY2(fs::exists(folder()), "ATHANOR_SOURCE_DIR does not say where the sources are");
  samples_ = read_json_file(folder() / "samples.json");
  texts_ = samples_["texts"].get<std::vector<std::string>>();
}

void TestTokenizerGolden::ids_are_the_peers_data() {
  QTest::addColumn<int>("row");
  int row = 0;
  for (const Json& entry : samples_["cases"]) {
    const std::string name =
        entry["file"].get<std::string>() + " " + entry.value("pattern", std::string());
    QTest::newRow(name.c_str()) << row++;
  }
}

void TestTokenizerGolden::ids_are_the_peers() {
  QFETCH(int, row);
  row_ = row;
  const Json& entry = entry_of_row();
  const Tokenizer tokenizer = load(entry);
  TokenEncoder encoder(tokenizer);
  for (std::size_t at = 0; at < texts_.size(); ++at) {
    const auto expected = entry["ids"][at].get<std::vector<std::int32_t>>();
    QCOMPARE(tokenizer.encode(texts_[at]), expected);
    for (int time = 0; time < 2; ++time) {
      std::vector<std::int32_t> ids;
      encoder.encode(texts_[at], ids);
      QCOMPARE(ids, expected);
    }
    if (!entry.contains("special_ids")) continue;
    std::vector<std::int32_t> ids;
    encoder.encode(texts_[at], ids, {.special_tokens = true});
    QCOMPARE(ids, entry["special_ids"][at].get<std::vector<std::int32_t>>());
  }
}

void TestTokenizerGolden::saved_tokenizers_are_the_same() {
  QFETCH(int, row);
  row_ = row;
  const Tokenizer tokenizer = load(entry_of_row());
  const QTemporaryDir folder;
  const fs::path file = folder.filePath("tokenizer.json").toStdString();
  tokenizer.save(file);
  const Tokenizer saved = Tokenizer::load(file);
  QCOMPARE(saved.fingerprint(), tokenizer.fingerprint());
  QCOMPARE(saved.end_of_text(), tokenizer.end_of_text());
  QCOMPARE(saved.vocabulary_size(), tokenizer.vocabulary_size());
  for (const std::string& text : texts_)
    QCOMPARE(saved.encode(text), tokenizer.encode(text));
}

void TestTokenizerGolden::byte_level_texts_come_back() {
  QFETCH(int, row);
  row_ = row;
  const Tokenizer tokenizer = load(entry_of_row());
  const TokenizerDescription& description = tokenizer.description();
  const bool changes_text =
      description.normalizer != "null" ||
      description.pre_tokenizer.find("\"add_prefix_space\":true") != std::string::npos;
  if (changes_text) QSKIP("This tokenizer changes texts before it encodes them");
  for (const std::string& text : texts_)
    QCOMPARE(tokenizer.decode(tokenizer.encode(text)), text);
  const std::string bytes = "a\xFF\xC3\xE2\x82 b\xF4\x90\x80\x80";
  QCOMPARE(tokenizer.decode(tokenizer.encode(bytes)), bytes);
}

void TestTokenizerGolden::sentence_piece_ids_are_the_peers() {
  const Json& entry = samples_["sentence_piece"];
  const Tokenizer tokenizer(
      read_gguf_vocabulary({.model = "llama",
                            .tokens = entry["tokens"].get<std::vector<std::string>>(),
                            .scores = entry["scores"].get<std::vector<float>>(),
                            .types = entry["types"].get<std::vector<std::int32_t>>(),
                            .end_of_text = 2},
                           "sample.gguf"),
      "sample.gguf");
  QCOMPARE(tokenizer.description().end_of_text, std::string("</s>"));
  for (std::size_t at = 0; at < texts_.size(); ++at) {
    // SentencePiece takes its own mark for a space, and control tokens' spellings for text.
    QCOMPARE(tokenizer.encode(texts_[at]), entry["ids"][at].get<std::vector<std::int32_t>>());
    if (texts_[at].find("\xE2\x96\x81") == std::string::npos)
      QCOMPARE(tokenizer.decode(tokenizer.encode(texts_[at])), texts_[at]);
  }
}

void TestTokenizerGolden::cut_texts_give_the_same_ids() {
  QFETCH(int, row);
  row_ = row;
  const Tokenizer tokenizer = load(entry_of_row());
  std::string all;
  for (const std::string& text : texts_)
    all += text;
  std::vector<std::int32_t> ids;
  TokenEncoder encoder(tokenizer);
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = tokenizer.cut_after(all, from + 20);
    QVERIFY(end > from);
    encoder.encode(std::string_view(all).substr(from, end - from), ids, {.continues = from > 0});
    from = end;
  }
  QCOMPARE(ids, tokenizer.encode(all));
}

QTEST_APPLESS_MAIN(TestTokenizerGolden)
#include "test_tokenizer_golden.moc"
