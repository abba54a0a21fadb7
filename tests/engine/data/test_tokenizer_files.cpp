// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <filesystem>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer.h"
#include "engine/data/tokenizer_comparison.h"
#include "engine/data/tokenizer_description.h"
#include "tests/support/expect_error.h"

using namespace athanor;
namespace fs = std::filesystem;

namespace {

/// A tokenizer.json with a few letters, their merges and an end-of-text token.
KeyedJson small_file() {
  return KeyedJson::parse(R"({
    "added_tokens": [{"id": 9, "content": "<|endoftext|>", "special": true, "normalized": false}],
    "normalizer": null, "post_processor": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4},
              "merges": ["a b", ["ab", "c"]]}})");
}

Tokenizer read(const KeyedJson& file) {
  return Tokenizer(read_tokenizer_json(file, "a.json"), "a.json");
}

std::string ranks_of_bytes() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string lines;
  for (unsigned byte = 0; byte < 256; ++byte) {
    lines += kDigits[byte >> 2];
    lines += kDigits[(byte & 3) << 4];
    lines += "== " + std::to_string(byte) + "\n";
  }
  return lines;
}

GgufVocabulary small_llama() {
  GgufVocabulary made{.model = "llama", .end_of_text = 258};
  for (int byte = 0; byte < 256; ++byte) {
    made.tokens.push_back(
        QString("<0x%1>").arg(byte, 2, 16, QChar('0')).toUpper().replace("X", "x").toStdString());
    made.scores.push_back(0);
    made.types.push_back(6);
  }
  const auto add = [&](const char* token, float score, std::int32_t type) {
    made.tokens.emplace_back(token);
    made.scores.push_back(score);
    made.types.push_back(type);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  add("▁", -10, 1);
  add("a", -11, 1);
  add("b", -12, 1);
  add("▁a", -1, 1);
  add("ab", -2, 1);
  return made;
}

}  // namespace

class TestTokenizerFiles : public QObject {
  Q_OBJECT

 private slots:
  void a_small_file_is_read() {
    const Tokenizer tokenizer = read(small_file());
    QCOMPARE(tokenizer.encode("abcab"), (std::vector<std::int32_t>{4, 3}));
    // What has no token is left out, as `tokenizers` does.
    QCOMPARE(tokenizer.encode("axb"), (std::vector<std::int32_t>{3}));
    QCOMPARE(tokenizer.vocabulary_size(), 10);
    QCOMPARE(tokenizer.unused_ids(), (std::vector<std::int32_t>{5, 6, 7, 8}));
    QCOMPARE(tokenizer.end_of_text(), 9);
    QVERIFY(tokenizer.is_special(9) && !tokenizer.is_special(4) && !tokenizer.is_special(10));
    QCOMPARE(padded_vocabulary(tokenizer), 64);
    QCOMPARE(padded_vocabulary(tokenizer, 128), 128);
  }

  void what_cannot_be_honoured_is_named_data() {
    QTest::addColumn<QByteArray>("place");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* place, const char* value, const char* part) {
      QTest::newRow(part) << QByteArray(place) << QByteArray(value) << QByteArray(part);
    };
    row("/model/type", R"("WordPiece")", "WordPiece");
    row("/model/type", R"("Unigram")", "Unigram");
    row("/model/dropout", "0.1", "dropout");
    row("/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix");
    row("/model/byte_fallback", "true", "byte_fallback");
    row("/truncation", R"({"max_length":512})", "truncation");
    row("/normalizer", R"({"type":"Lowercase"})", "Lowercase");
    row("/normalizer", R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Strip"}]})",
        "normalizers[1]");
    row("/normalizer", R"({"type":"Replace","pattern":{"Regex":"a"},"content":""})",
        "normalizer.pattern");
    row("/pre_tokenizer", R"({"type":"BertPreTokenizer"})", "BertPreTokenizer");
    row("/pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"\\w+"},"behavior":"Isolated"})",
        "\\w");
    row("/pre_tokenizer",
        R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})",
        "must be the last");
    row("/pre_tokenizer", R"({"type":"Metaspace","replacement":"_"})", "replacement");
    row("/decoder", R"({"type":"WordPiece"})", "decoder is a \"WordPiece\"");
    row("/post_processor", R"({"type":"BertProcessing"})", "BertProcessing");
    row("/added_tokens/0/single_word", "true", "single word");
    row("/added_tokens", "[]", "ends a text");
  }
  void what_cannot_be_honoured_is_named() {
    QFETCH(QByteArray, place);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, part);
    KeyedJson file = small_file();
    file[KeyedJson::json_pointer(place.toStdString())] = KeyedJson::parse(value.toStdString());
    ATHANOR_EXPECT_ERROR(read(file), ErrorKind::unsupported, part.toStdString());
    ATHANOR_EXPECT_ERROR(read(file), ErrorKind::unsupported, "a.json");
  }

  void damage_is_named_data() {
    QTest::addColumn<QByteArray>("place");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* name, const char* place, const char* value, const char* part) {
      QTest::newRow(name) << QByteArray(place) << QByteArray(value) << QByteArray(part);
    };
    row("no model", "/model", "null", "\"model\"");
    row("vocabulary", "/model/vocab", "[]", "model.vocab");
    row("number", "/model/vocab/a", "-1", "model.vocab.\"a\"");
    row("far number", "/model/vocab/a", "2000000000", "far more");
    row("same number", "/model/vocab/a", "1", "both");
    row("merges", "/model/merges", "3", "model.merges");
    row("merge of one", "/model/merges/0", R"("ab")", "model.merges[0]");
    row("merge of three", "/model/merges/1", R"(["a","b","c"])", "model.merges[1]");
    row("unknown token", "/model/merges/0", R"("a x")", "\"x\"");
    row("unknown result", "/model/merges/0", R"("b a")", "\"ba\"");
    row("repeated merge", "/model/merges/1", R"("a b")", "repeats");
    row("unknown", "/model/unk_token", R"("x")", "unk_token");
    row("flag", "/model/ignore_merges", "3", "ignore_merges");
    row("added", "/added_tokens/0", "{}", "added_tokens[0]");
    row("added number", "/added_tokens/0/id", "1", "added_tokens[0]");
    row("added far", "/added_tokens/0/id", "99999999", "far more");
    row("added renumbered", "/added_tokens/0/content", R"("a")", "added_tokens[0]");
  }
  void damage_is_named() {
    QFETCH(QByteArray, place);
    QFETCH(QByteArray, value);
    QFETCH(QByteArray, part);
    KeyedJson file = small_file();
    file[KeyedJson::json_pointer(place.toStdString())] = KeyedJson::parse(value.toStdString());
    ATHANOR_EXPECT_ERROR(read(file), ErrorKind::damaged, part.toStdString());
    ATHANOR_EXPECT_ERROR(read(file), ErrorKind::damaged, "a.json");
  }

  void many_fields_are_read_in_time() {
    KeyedJson file = small_file();
    for (int id = 10; id < 100'000; ++id)
      file["model"]["vocab"]["t" + std::to_string(id)] = id;
    const Stopwatch watch;
    QCOMPARE(read(file).vocabulary_size(), 100'000);
    QVERIFY2(watch.seconds() < 20, "100,000 tokens took over 20 s");
  }

  void tiktoken_files_follow_their_pattern() {
    const std::string text = ranks_of_bytes() + "YWI= 256\n";
    ATHANOR_EXPECT_ERROR(read_tiktoken(text, "a"), ErrorKind::invalid_argument, "llama3");
    ATHANOR_EXPECT_ERROR(read_tiktoken(text, "a", "x"), ErrorKind::invalid_argument, "\"x\"");
    const Tokenizer tokenizer(read_tiktoken(text, "a", "gpt2"), "a");
    QCOMPARE(tokenizer.encode("abab"), (std::vector<std::int32_t>{256, 256}));
    QCOMPARE(tokenizer.end_of_text(), 257);
  }

  void damaged_ranks_name_the_line_data() {
    QTest::addColumn<QByteArray>("line");
    for (const char* const line : {"YWI=", "YW= 256", "Y*I= 256", "YWI= x", "YWI= -1", "YWI= 256 ",
                                   "YWI= 99999999", "YWI= 3", " 256"}) {
      QTest::newRow(line) << QByteArray(line);
    }
  }
  void damaged_ranks_name_the_line() {
    QFETCH(QByteArray, line);
    ATHANOR_EXPECT_ERROR(read_tiktoken(ranks_of_bytes() + line.toStdString(), "a", "gpt2"),
                         ErrorKind::damaged, "line 257");
  }

  void incomplete_ranks_are_refused() {
    ATHANOR_EXPECT_ERROR(read_tiktoken("", "a", "gpt2"), ErrorKind::damaged, "no tokens");
    ATHANOR_EXPECT_ERROR(read_tiktoken("YWI= 0\n", "a", "gpt2"), ErrorKind::damaged,
                         "single bytes");
    ATHANOR_EXPECT_ERROR(read_tiktoken(ranks_of_bytes() + "YWI= 256\nYWI= 257\n", "a", "gpt2"),
                         ErrorKind::damaged, "twice");
  }

  void folders_and_pairs_are_found() {
    const QTemporaryDir temporary;
    const fs::path folder = temporary.path().toStdString();
    ATHANOR_EXPECT_ERROR(Tokenizer::load(folder), ErrorKind::not_found, "tokenizer.json");
    write_file_atomically(folder / "x-encoder.json", R"({"a":0,"b":1,"ab":2,"<|endoftext|>":3})");
    ATHANOR_EXPECT_ERROR(Tokenizer::load(folder / "x-encoder.json"), ErrorKind::not_found,
                         "x-vocab.bpe");
    write_file_atomically(folder / "x-vocab.bpe", "#version: 0.2\na b\n");
    for (const char* const name : {"x-encoder.json", "x-vocab.bpe"})
      QCOMPARE(Tokenizer::load(folder / name).encode("ab"), (std::vector<std::int32_t>{2}));
    write_file_atomically(folder / "x-vocab.bpe", "#version: 0.2\na b c\n");
    ATHANOR_EXPECT_ERROR(Tokenizer::load(folder / "x-encoder.json"), ErrorKind::damaged, "line 2");
    write_file_atomically(folder / "tokenizer.json", small_file().dump());
    QCOMPARE(Tokenizer::load(folder).end_of_text(), 9);
    write_file_atomically(folder / "tokenizer_config.json", R"({"eos_token":{"content":"abc"}})");
    QCOMPARE(Tokenizer::load(folder).end_of_text(), 4);
    write_file_atomically(folder / "tokenizer_config.json", R"({"eos_token":"x"})");
    ATHANOR_EXPECT_ERROR(Tokenizer::load(folder), ErrorKind::unsupported, "\"x\"");
    ATHANOR_EXPECT_ERROR(Tokenizer::load(folder / "none.json"), ErrorKind::not_found, "none.json");
  }

  void llama_vocabularies_are_read() {
    const Tokenizer tokenizer(read_gguf_vocabulary(small_llama(), "a.gguf"), "a.gguf");
    QCOMPARE(tokenizer.encode("ab b"), (std::vector<std::int32_t>{262, 261, 259, 261}));
    QCOMPARE(tokenizer.encode("é"), (std::vector<std::int32_t>{259, 0xC3, 0xA9}));
    QCOMPARE(tokenizer.decode(tokenizer.encode("ab é\xFF")), std::string("ab é\xFF"));
    GgufVocabulary same = small_llama();
    same.scores[262] = same.scores[263];
    ATHANOR_EXPECT_ERROR(read_gguf_vocabulary(same, "a.gguf"), ErrorKind::unsupported,
                         "same score");
    GgufVocabulary unused = small_llama();
    unused.types[263] = 5;
    ATHANOR_EXPECT_ERROR(read_gguf_vocabulary(unused, "a.gguf"), ErrorKind::unsupported, "unused");
    GgufVocabulary other = small_llama();
    other.model = "bert";
    ATHANOR_EXPECT_ERROR(read_gguf_vocabulary(other, "a.gguf"), ErrorKind::unsupported, "bert");
    GgufVocabulary shorter = small_llama();
    shorter.scores.pop_back();
    ATHANOR_EXPECT_ERROR(read_gguf_vocabulary(shorter, "a.gguf"), ErrorKind::damaged, "scores");
  }

  void byte_level_vocabularies_are_read() {
    GgufVocabulary made{.model = "gpt2",
                        .pre = "smollm",
                        .tokens = {"a", "b", "ab", "Ġ", "Ġab", "1", "<eos>"},
                        .types = {1, 1, 1, 1, 1, 1, 3},
                        .merges = {"a b", "Ġ ab"},
                        .end_of_text = 6};
    const Tokenizer tokenizer(read_gguf_vocabulary(made, "a.gguf"), "a.gguf");
    QCOMPARE(tokenizer.encode("ab ab11"), (std::vector<std::int32_t>{2, 4, 5, 5}));
    QCOMPARE(tokenizer.end_of_text(), 6);
    made.merges.emplace_back("b b");
    ATHANOR_EXPECT_ERROR(read_gguf_vocabulary(made, "a.gguf"), ErrorKind::damaged, "merge 2");
    made.pre = "unheard-of";
    ATHANOR_EXPECT_ERROR(read_gguf_vocabulary(made, "a.gguf"), ErrorKind::unsupported,
                         "unheard-of");
  }

  void tokenizers_are_measured() {
    const Tokenizer tokenizer = read(small_file());
    const TokenizerMeasure measure = measure_tokenizer(tokenizer, "abc ab\nabc", CancelToken());
    QCOMPARE(measure.words, 3);
    QCOMPARE(measure.tokens, 3);
    QCOMPARE(measure.used_tokens, 2);
    QCOMPARE(measure.tokens_per_word(), 1.0);
    CancelToken cancel;
    cancel.request();
    QVERIFY_EXCEPTION_THROWN(measure_tokenizer(tokenizer, "abc", cancel), Cancelled);
  }
};

QTEST_APPLESS_MAIN(TestTokenizerFiles)
#include "test_tokenizer_files.moc"
