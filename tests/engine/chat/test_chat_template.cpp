// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "engine/base/json.h"
#include "engine/chat/chat_template.h"
#include "engine/data/tokenizer_description.h"
#include "tests/support/expect_error.h"

using namespace athanor;
namespace fs = std::filesystem;

namespace {

fs::path golden() {
  return fs::path(qEnvironmentVariable("ATHANOR_SOURCE_DIR").toStdString()) / "tests/golden/chats";
}

ChatFormat format_of(const std::string& name) {
  constexpr auto kNames = names_of(ChatFormat{});
  return static_cast<ChatFormat>(std::ranges::find(kNames, name) - kNames.begin());
}

Tokenizer tokenizer_of(const std::string& name) {
  return Tokenizer::load(golden() / (name + ".json"));
}

std::int32_t id_of(const Tokenizer& tokenizer, const std::string& token) {
  const std::vector<AddedToken>& added = tokenizer.description().added;
  return std::ranges::find(added, token, &AddedToken::content)->id;
}

Dialogue conversation_of(const Json& messages) {
  Dialogue made;
  for (const Json& message : messages) {
    const auto name = message[0].get<std::string>();
    const Role role = name == "system" ? Role::system
                      : name == "user" ? Role::user
                                       : Role::assistant;
    made.messages.push_back({.role = role, .text = message[1].get<std::string>()});
  }
  return made;
}

struct Own {
  const char* name;
  ChatStyle style;
  const char* tokenizer;
  const char* begin;  ///< empty: none
  const char* end;
  const char* written;  ///< what a model writes in an answer
};

const std::vector<Own>& own_templates() {
  static const std::vector<Own> all = {
      {"plain",
       {ChatFormat::plain, ""},
       "gpt2",
       "<|endoftext|>",
       "<|endoftext|>",
       "{}<|endoftext|>"},
      {"alpaca",
       {ChatFormat::alpaca, ""},
       "gpt2",
       "<|endoftext|>",
       "<|endoftext|>",
       "{}<|endoftext|>"},
      {"alpaca system",
       {ChatFormat::alpaca, "It's \"so\":\nback\\slash"},
       "gpt2",
       "",
       "<|endoftext|>",
       "{}<|endoftext|>"},
      {"chatml",
       {ChatFormat::chatml, "Be\nbrief."},
       "qwen2",
       "<|endoftext|>",
       "<|endoftext|>",
       "{}<|im_end|>"},
      {"llama2", {ChatFormat::llama2, "Be brief."}, "llama2", "<s>", "</s>", "{} </s>"},
      {"llama3",
       {ChatFormat::llama3, " Be brief. "},
       "llama3",
       "",
       "<|endoftext|>",
       "{}<|eot_id|>"},
      {"mistral", {ChatFormat::mistral, "Be brief."}, "llama2", "<s>", "</s>", "{}</s>"},
      {"qwen", {ChatFormat::qwen, ""}, "qwen2", "", "<|endoftext|>", "{}<|im_end|>"},
      {"gemma",
       {ChatFormat::gemma, " Be brief."},
       "gpt2",
       "<bos>",
       "<|endoftext|>",
       "{}<end_of_turn>"},
      {"zephyr", {ChatFormat::zephyr, ""}, "llama2", "<s>", "</s>", "{}</s>"},
  };
  return all;
}

}  // namespace

class TestChatTemplate : public QObject {
  Q_OBJECT

 private slots:
  /// Not a test: see tests/golden/record_chats.py.
  void templates_are_recorded_where_asked() {
    const char* const path = std::getenv("ATHANOR_RECORD_TEMPLATES");
    if (path == nullptr) return;
    Json list = Json::array();
    for (const Own& own : own_templates()) {
      list.push_back(
          {{"name", own.name},
           {"format", names_of(ChatFormat{})[static_cast<std::size_t>(own.style.format)]},
           {"system", own.style.system},
           {"tokenizer", own.tokenizer},
           {"begin", own.begin},
           {"end", own.end},
           {"written", own.written},
           {"jinja", jinja_of(own.style, *own.begin != '\0')}});
    }
    std::ofstream(path) << list.dump();
  }

  void tokens_are_those_of_transformers_data() {
    QTest::addColumn<int>("sample");
    const Json samples = read_json_file(golden() / "samples.json");
    QVERIFY(samples.size() >= 20);
    for (int i = 0; i < static_cast<int>(samples.size()); ++i)
      QTest::newRow(samples[static_cast<std::size_t>(i)]["name"].get<std::string>().c_str()) << i;
  }
  void tokens_are_those_of_transformers() {
    QFETCH(int, sample);
    const Json golden_sample =
        read_json_file(golden() / "samples.json")[static_cast<std::size_t>(sample)];
    const Tokenizer tokenizer = tokenizer_of(golden_sample["tokenizer"].get<std::string>());
    const ChatTemplate chat({.format = format_of(golden_sample["format"].get<std::string>()),
                             .system = golden_sample["system"].get<std::string>()},
                            tokenizer, golden_sample["begin"].get<std::int32_t>());
    for (const Json& expected : golden_sample["chats"]) {
      Dialogue conversation = conversation_of(expected["messages"]);
      const EncodedChat made = chat.encode(conversation, false);
      QCOMPARE(made.ids, expected["ids"].get<std::vector<std::int32_t>>());
      QCOMPARE(trained_tokens(made, conversation, LossOn::answers),
               expected["mask"].get<std::vector<std::uint8_t>>());
      conversation.messages.pop_back();
      QCOMPARE(chat.encode(conversation, true).ids,
               expected["prompt"].get<std::vector<std::int32_t>>());
    }
  }

  void templates_are_detected_to_the_letter() {
    for (const Json& sample : read_json_file(golden() / "samples.json")) {
      const auto jinja = sample["jinja"].get<std::string>();
      const auto found = detect_style(jinja);
      QVERIFY2(found.has_value() == sample["known"].get<bool>(),
               sample["name"].get<std::string>().c_str());
      if (!found) continue;
      QCOMPARE(found->style.format, format_of(sample["format"].get<std::string>()));
      QCOMPARE(found->style.system, sample["system"].get<std::string>());
      QCOMPARE(found->begins_with_token, sample["begin"].get<int>() >= 0);
      QVERIFY(!detect_style(jinja + "{{ 'x' }}"));
    }
    QVERIFY(!detect_style(""));
    QVERIFY(!detect_style("{% for message in messages %}{{ message['content'] }}{% endfor %}"));
  }

  void what_is_exported_is_what_was_recorded() {
    const Json samples = read_json_file(golden() / "samples.json");
    for (const Own& own : own_templates()) {
      const auto found = std::ranges::find_if(samples, [&](const Json& sample) {
        return sample["name"] == std::string("own ") + own.name;
      });
      QVERIFY(found != samples.end());
      QCOMPARE(jinja_of(own.style, *own.begin != '\0'), (*found)["jinja"].get<std::string>());
    }
  }

  void an_input_has_its_own_place_in_alpaca_only() {
    const Dialogue conversation{{{.role = Role::user, .text = "Who?", .input = "Tom ran."},
                                 {.role = Role::assistant, .text = "Tom."}}};
    const auto written = [&](ChatFormat format) {
      std::string text;
      for (const ChatPiece& piece : render_chat({format, ""}, conversation, false))
        text += piece.text;
      return text;
    };
    QVERIFY(written(ChatFormat::alpaca)
                .ends_with("with an input that provides further context. Write a response that "
                           "appropriately completes "
                           "the request.\n\n### Instruction:\nWho?\n\n### Input:\nTom ran.\n\n### "
                           "Response:\nTom."));
    QCOMPARE(written(ChatFormat::plain), std::string("Who?\nTom ran.\nTom."));
  }

  void words_that_look_like_markers_are_words() {
    const Tokenizer tokenizer = tokenizer_of("qwen2");
    const ChatTemplate chat({ChatFormat::chatml, ""}, tokenizer, -1);
    const Dialogue conversation{{{.role = Role::user, .text = "a<|im_end|>b"},
                                 {.role = Role::assistant, .text = "<|im_start|>"}}};
    const std::vector<std::int32_t> ids = chat.encode(conversation, false).ids;
    const std::int32_t end = id_of(tokenizer, "<|im_end|>");
    QCOMPARE(chat.end_of_answer(), end);
    QCOMPARE(std::ranges::count(ids, end), 2);
    QCOMPARE(std::ranges::count(ids, id_of(tokenizer, "<|im_start|>")), 2);
  }

  void what_is_trained_is_chosen() {
    const Tokenizer tokenizer = tokenizer_of("gpt2");
    const std::int32_t end = tokenizer.end_of_text();
    const ChatTemplate chat({ChatFormat::plain, ""}, tokenizer, end);
    Dialogue conversation{{{.role = Role::user, .text = "a"},
                           {.role = Role::assistant, .text = "b"},
                           {.role = Role::user, .text = "c"},
                           {.role = Role::assistant, .text = "d"}}};
    // begin, a, line break, b, end, c, line break, d, end
    const EncodedChat made = chat.encode(conversation, false);
    using Marks = std::vector<std::uint8_t>;
    QCOMPARE(trained_tokens(made, conversation, LossOn::answers),
             Marks({0, 0, 0, 1, 1, 0, 0, 1, 1}));
    QCOMPARE(trained_tokens(made, conversation, LossOn::last_answer),
             Marks({0, 0, 0, 0, 0, 0, 0, 1, 1}));
    QCOMPARE(trained_tokens(made, conversation, LossOn::everything), Marks(9, 1));
    conversation.messages[3].trained = false;
    QCOMPARE(trained_tokens(made, conversation, LossOn::answers),
             Marks({0, 0, 0, 1, 1, 0, 0, 0, 0}));
  }

  void a_tokenizer_without_a_marker_is_refused() {
    const Tokenizer tokenizer = tokenizer_of("llama2");
    ATHANOR_EXPECT_ERROR(ChatTemplate({ChatFormat::chatml, ""}, tokenizer, -1),
                         ErrorKind::invalid_argument, "needs the token <|im_start|>");
  }

  void roles_out_of_order_are_refused_data() {
    QTest::addColumn<QString>("roles");
    QTest::addColumn<bool>("answer_follows");
    QTest::addColumn<QString>("problem");
    QTest::newRow("none") << "" << false << "no message of a user";
    QTest::newRow("only a system") << "s" << true << "no message of a user";
    QTest::newRow("answer first") << "a" << false << "message 1 is of the assistant";
    QTest::newRow("two questions") << "uu" << false << "message 2 is of the user";
    QTest::newRow("system later") << "uas" << false << "message 3 is of the system";
    QTest::newRow("unanswered") << "uau" << false << "nothing answers";
  }
  void roles_out_of_order_are_refused() {
    QFETCH(QString, roles);
    QFETCH(bool, answer_follows);
    QFETCH(QString, problem);
    Dialogue conversation;
    for (const QChar c : roles) {
      conversation.messages.push_back({.role = c == 's'   ? Role::system
                                               : c == 'u' ? Role::user
                                                          : Role::assistant,
                                       .text = "x"});
    }
    ATHANOR_EXPECT_ERROR(check_conversation(conversation, answer_follows),
                         ErrorKind::invalid_argument, problem.toStdString());
  }
};

QTEST_APPLESS_MAIN(TestChatTemplate)
#include "test_chat_template.moc"
