// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/story_cast.h"
#include "engine/data/story_corpus.h"
#include "engine/data/story_teller.h"

namespace athanor {

namespace {

/// Keeps the questions' choices apart from the stories' of the same seed.
constexpr std::uint64_t kQuestionStream = std::uint64_t{1} << 62;
constexpr int kStoryPercent = 10;

struct Question {
  std::string_view instruction;
  std::string_view input;
  std::string_view output;
};

constexpr Question kQuestions[] = {
    {"Where does the {animal} live?", "", "[the|a] {animal} lives {home}."},
    {"[What does a {animal} eat?|What do you give a hungry {animal}?]", "",
     "a {animal} eats {afood}."},
    {"What can a {animal} do well?", "", "a {animal} can {gift}."},
    {"What sound does a {animal} make?", "", "a {animal} makes {sound}."},
    {"Who is {worker}?", "", "{worker} is the {job} who lives {worker_home}."},
    {"Where does the {job} live?", "", "the {job} is called {worker} and lives {worker_home}."},
    {"[What does the {job} do?|What is the work of a {job}?]", "", "the {job} {works}."},
    {"What does the {job} use?", "", "the {job} uses a {tool}."},
    {"Who {works}?", "", "{worker} the {job} {works}."},
    {"Who uses a {tool}?", "", "the {job} uses a {tool}."},
    {"What can you see {at}?", "", "{at} you can see {sight} and {other_sight}."},
    {"What can you do with a {noun}?", "", "you can {use}."},
    {"Where was the {noun}?", "{hero} lost a {thing}. {friend} found it {spot2} {at2}.",
     "the {noun} was {spot2} {at2}."},
    {"Who found the {noun}?", "{hero} lost a {thing}. {friend} found it {spot2} {at2}.",
     "{friend} found the {noun}."},
    {"Who got {food}?", "{hero} went to {place} and gave {food} to {friend}.",
     "{friend} got {food}."},
    {"Where did {hero} go?", "{day}, {hero} went to {place} and gave {food} to {friend}.",
     "{hero} went to {place}."},
    {"What did {hero} want?", "{hero} wanted to {wish}, but {obstacle}.",
     "{hero} wanted to {wish}."},
    {"Why was it hard for {hero}?", "{hero} wanted to {wish}, but {obstacle}.",
     "it was hard because {obstacle}."},
    {"What was the weather like?", "{day}, {hero} met {friend} {at} while {weather}.",
     "{weather}."},
};

Json record(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t stream = kQuestionStream | index;
  story::Choices choices(seed, stream);
  if (choices.chance(kStoryPercent)) {
    const std::string wish =
        story::polish(story::expand("[tell|write] [me |]a [short |]story.", {}, choices));
    return {{"instruction", wish}, {"input", ""}, {"output", story::tell_story(seed, stream)}};
  }
  const story::Slots slots = story::choose_cast(choices);
  const Question& question = choices.one_of<Question>(kQuestions);
  const auto told = [&](std::string_view text) {
    return story::polish(story::expand(text, slots, choices));
  };
  Json json = Json::object();
  json["instruction"] = told(question.instruction);
  json["input"] = told(question.input);
  json["output"] = told(question.output);
  return json;
}

}  // namespace

void write_story_questions(const std::filesystem::path& path, std::int64_t count,
                           std::uint64_t seed) {
  AtomicFile file(path);
  for (std::int64_t index = 0; index < count; ++index) {
    file.write(record(seed, static_cast<std::uint64_t>(index)).dump() + "\n");
  }
  file.commit();
}

}  // namespace athanor
