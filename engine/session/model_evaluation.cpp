// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/model_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/chat/tokenize_conversations.h"
#include "engine/data/documents.h"
#include "engine/data/progress_meter.h"
#include "engine/data/text_file.h"
#include "engine/data/token_encoder.h"

namespace athanor {

namespace {

double share_of(std::int64_t right, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

[[noreturn]] void refuse_empty(const std::filesystem::path& file) {
  throw Error(ErrorKind::invalid_argument,
              file.string() + " has no question to ask. Choose another file.");
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// A multiple-choice question with texts to score, one for each choice.
struct ChoiceQuestion {
  std::string question;
  std::vector<std::string> choices;
  std::size_t right = 0;
  std::vector<ScoredText> texts;
};

class ChoiceReader {
 public:
  ChoiceReader(const Tokenizer& tokenizer, std::int32_t begin_of_text, const ChatTemplate* chat,
               std::int64_t context)
      : encoder_(tokenizer), begin_of_text_(begin_of_text), chat_(chat), context_(context) {}

  ChoiceQuestion read(const RecordFile::Record& record, const std::string& place) {
    const Json json = parse_json(record.json, place);
    const auto refuse = [&](const std::string& what) {
      throw Error(ErrorKind::damaged,
                  fmt::format("{}: {}. Correct the record, or take it out.", place, what));
    };
    if (!json.is_object()) refuse("the record is not an object");
    ChoiceQuestion made;
    const Json* const question = first_of(json, {"question", "query", "prompt", "context"});
    if (question == nullptr || !question->is_string()) refuse("\"question\" is not a text");
    made.question = question->get<std::string>();
    const Json* const choices = first_of(json, {"choices", "options"});
    if (choices == nullptr || !choices->is_array() || choices->size() < 2)
      refuse("\"choices\" is not a list of at least two texts");
    for (const Json& choice : *choices) {
      if (!choice.is_string() || choice.get_ref<const std::string&>().empty())
        refuse("\"choices\" holds what is not a text, or an empty one");
      made.choices.push_back(choice.get<std::string>());
    }
    const std::optional<std::size_t> right =
        number_of(first_of(json, {"answer", "label", "gold"}), made.choices);
    if (!right) refuse("\"answer\" is not the number, from 0, the letter or the text of a choice");
    made.right = *right;
    for (const std::string& choice : made.choices) {
      made.texts.push_back(chat_ != nullptr ? answered(made.question, choice)
                                            : followed(made.question, choice));
      if (std::ssize(made.texts.back().ids) > context_ + 1) {
        refuse(
            fmt::format("a question and its choice have {} tokens, but the model sees {} at "
                        "once",
                        made.texts.back().ids.size(), context_));
      }
    }
    return made;
  }

 private:
  static const Json* first_of(const Json& json, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const auto found = json.find(name); found != json.end()) return &*found;
    return nullptr;
  }

  static std::optional<std::size_t> number_of(const Json* answer,
                                              const std::vector<std::string>& choices) {
    if (answer == nullptr) return {};
    if (answer->is_number_integer()) {
      const auto number = answer->get<std::int64_t>();
      if (number < 0 || number >= std::ssize(choices)) return {};
      return static_cast<std::size_t>(number);
    }
    if (!answer->is_string()) return {};
    const auto& text = answer->get_ref<const std::string&>();
    const auto same = std::ranges::find(choices, text);
    if (same != choices.end()) return static_cast<std::size_t>(same - choices.begin());
    if (text.size() != 1 || text[0] < 'A') return {};
    const auto letter = static_cast<std::size_t>(text[0] - 'A');
    if (letter >= choices.size()) return {};
    return letter;
  }

  ScoredText followed(const std::string& question, const std::string& choice) {
    std::vector<std::int32_t> before;
    ScoredText made;
    if (begin_of_text_ >= 0) made.ids.push_back(begin_of_text_);
    before = made.ids;
    encoder_.encode(question, before);
    encoder_.encode(question + " " + choice, made.ids);
    const auto parted = std::ranges::mismatch(before, made.ids);
    made.first_predicted =
        std::max<std::size_t>(1, static_cast<std::size_t>(parted.in2 - made.ids.begin()));
    return made;
  }

  ScoredText answered(const std::string& question, const std::string& choice) const {
    const Dialogue talk{
        {{.role = Role::user, .text = question}, {.role = Role::assistant, .text = choice}}};
    const EncodedChat chat = chat_->encode(talk, false);
    const auto first = std::ranges::find(chat.answers, 1);
    const auto end = std::find(first, chat.answers.end(), 0);
    // What ends the answer is no part of the choice.
    return {.ids = chat.ids,
            .first_predicted = static_cast<std::size_t>(first - chat.answers.begin()),
            .end = static_cast<std::size_t>(end - chat.answers.begin()) - 1};
  }

  TokenEncoder encoder_;
  std::int32_t begin_of_text_;
  const ChatTemplate* chat_;
  std::int64_t context_;
};

/// Which choice costs least, and which by byte.
struct Chosen {
  std::size_t choice = 0;
  std::size_t by_byte = 0;
};

Chosen choose(const std::vector<std::string>& choices, std::span<const double> costs) {
  Chosen chosen;
  const auto by_byte = [&](std::size_t i) {
    return costs[i] / static_cast<double>(choices[i].size());
  };
  for (std::size_t i = 1; i < choices.size(); ++i) {
    if (costs[i] < costs[chosen.choice]) chosen.choice = i;
    if (by_byte(i) < by_byte(chosen.by_byte)) chosen.by_byte = i;
  }
  return chosen;
}

/// A question with all answers that a file has for it.
struct AskedQuestion {
  Dialogue asked;
  std::vector<std::string> answers;
};

std::vector<AskedQuestion> questions_in(RecordFile& file, const AnswerOptions& options,
                                        const CancelToken& cancel,
                                        const ProgressCallback& progress) {
  std::optional<std::uint64_t> threshold;
  if (options.held_out_fraction)
    threshold = held_out_threshold(file, *options.held_out_fraction, cancel, progress);
  std::vector<AskedQuestion> questions;
  std::unordered_map<std::uint64_t, std::size_t> known;
  file.restart();
  while (const auto record = file.next()) {
    cancel.throw_if_requested();
    Dialogue talk = read_conversation(*record, file.place(*record));
    if (threshold && !is_held_out(talk, *threshold)) continue;
    std::string answer = trimmed(talk.messages.back().text);
    const auto [place, is_new] = known.emplace(question_key(talk), questions.size());
    talk.messages.pop_back();
    if (is_new) questions.push_back({.asked = std::move(talk), .answers = {}});
    questions[place->second].answers.push_back(std::move(answer));
  }
  if (options.most_questions > 0 && std::ssize(questions) > options.most_questions)
    questions.resize(static_cast<std::size_t>(options.most_questions));
  return questions;
}

}  // namespace

ModelMeasurement measure_perplexity(Scorer& scorer, const Tokenizer& tokenizer,
                                    std::int32_t begin_of_text, const std::filesystem::path& path,
                                    const CancelToken& cancel, const ProgressCallback& progress) {
  const TextFile file = TextFile::open(path, cancel, progress);
  const auto context = static_cast<std::size_t>(scorer.context());
  ProgressMeter meter("Measuring the perplexity", std::ssize(file.text()), cancel, progress);
  TokenEncoder encoder(tokenizer);
  std::vector<ScoredText> waiting;
  double nats = 0;
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  const auto score = [&] {
    for (const double cost : scorer.cost(waiting, cancel))
      nats += cost;
    waiting.clear();
    meter.update(bytes);
  };
  DocumentWalker walker(file.text());
  const auto add = [&](std::span<const std::int32_t> ids) {
    constexpr std::size_t kWaiting = 64;
    waiting.push_back({.ids = {ids.begin(), ids.end()}});
    if (waiting.size() == kWaiting) score();
  };
  const bool trained_here = begin_of_text == tokenizer.end_of_text();
  std::string_view document;
  while (walker.next(document)) {
    std::vector<std::int32_t> ids{begin_of_text >= 0 ? begin_of_text : tokenizer.end_of_text()};
    encoder.encode(document, ids);
    ids.push_back(tokenizer.end_of_text());
    tokens += std::ssize(ids) - 1;
    bytes += std::ssize(document);
    for (std::size_t first = 0; first + 1 < ids.size(); first += context) {
      const std::size_t count = std::min(context + 1, ids.size() - first);
      std::span<const std::int32_t> window = std::span(ids).subspan(first, count);
      if (first == 0 && trained_here) {
        // In training here only the first token of a document is predicted from what is before it.
        add(window.first(2));
        window = window.subspan(1);
      }
      if (window.size() > 1) add(window);
    }
  }
  score();
  meter.finish();
  return {.kind = EvaluationKind::perplexity,
          .items = tokens,
          .value = std::exp(nats / static_cast<double>(tokens)),
          .second_value = nats / std::numbers::ln2 / static_cast<double>(bytes)};
}

ModelMeasurement measure_choices(Scorer& scorer, const Tokenizer& tokenizer,
                                 std::int32_t begin_of_text, const ChatTemplate* chat,
                                 const std::filesystem::path& records, const CancelToken& cancel,
                                 const ProgressCallback& progress, const JudgeCallback& judge) {
  RecordFile file(records);
  ProgressMeter meter("Asking multiple-choice questions", file.bytes(), cancel, progress);
  ChoiceReader reader(tokenizer, begin_of_text, chat, scorer.context());
  ModelMeasurement made{.kind = EvaluationKind::choices};
  std::int64_t right = 0;
  std::int64_t right_by_byte = 0;
  std::vector<ChoiceQuestion> waiting;
  const auto score = [&] {
    std::vector<ScoredText> texts;
    for (const ChoiceQuestion& question : waiting)
      texts.insert(texts.end(), question.texts.begin(), question.texts.end());
    const std::vector<double> costs = scorer.cost(texts, cancel);
    std::size_t first = 0;
    for (const ChoiceQuestion& question : waiting) {
      const std::size_t count = question.choices.size();
      const Chosen chosen = choose(question.choices, std::span(costs).subspan(first, count));
      first += count;
      right += chosen.choice == question.right ? 1 : 0;
      right_by_byte += chosen.by_byte == question.right ? 1 : 0;
      judge({.question = question.question,
             .expected = question.choices[question.right],
             .given = question.choices[chosen.choice],
             .right = chosen.choice == question.right});
    }
    made.items += std::ssize(waiting);
    waiting.clear();
    meter.update(file.position());
  };
  while (const auto record = file.next()) {
    constexpr std::size_t kWaiting = 32;
    waiting.push_back(reader.read(*record, file.place(*record)));
    if (waiting.size() == kWaiting) score();
  }
  score();
  meter.finish();
  if (made.items == 0) refuse_empty(records);
  made.value = share_of(right, made.items);
  made.second_value = share_of(right_by_byte, made.items);
  return made;
}

ModelMeasurement measure_answers(ChatSession& session, const std::filesystem::path& records,
                                 const AnswerOptions& options, const CancelToken& cancel,
                                 const ProgressCallback& progress, const JudgeCallback& judge) {
  RecordFile file(records);
  const std::vector<AskedQuestion> questions = questions_in(file, options, cancel, progress);
  if (questions.empty()) refuse_empty(records);
  ProgressMeter meter("Asking questions", std::ssize(questions), cancel, progress);
  const SamplingOptions sampling{.temperature = 0, .max_tokens = options.most_tokens};
  ModelMeasurement made{.kind = EvaluationKind::answers};
  std::int64_t right = 0;
  for (const AskedQuestion& question : questions) {
    const Message& last = question.asked.messages.back();
    JudgedItem item{.question = last.input.empty() ? last.text : last.text + "\n" + last.input,
                    .expected = question.answers.front()};
    try {
      item.given =
          trimmed(session.answer(question.asked, sampling, cancel, [](const std::string&) {}).text);
      item.right = std::ranges::find(question.answers, item.given) != question.answers.end();
    } catch (const Error& error) {
      if (session.chat_template() == nullptr || error.kind() != ErrorKind::invalid_argument) throw;
    }
    right += item.right ? 1 : 0;
    judge(item);
    meter.update(++made.items);
  }
  meter.finish();
  made.value = share_of(right, made.items);
  return made;
}

MeasurementRow row_of(const ModelMeasurement& measured, std::int64_t step,
                      const std::string& file) {
  return {.step = step,
          .time_ms = now_ms(),
          .kind = std::string(names_of(EvaluationKind{})[static_cast<std::size_t>(measured.kind)]),
          .file = file,
          .items = measured.items,
          .value = measured.value,
          .second_value = measured.second_value};
}

}  // namespace athanor
