// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace athanor::story {

/// The one world that all stories and questions are about. Texts may use the slots and alternatives
/// of story_grammar.h.

struct Person {
  std::string_view name;
  bool female;
};

struct Place {
  std::string_view name;                   ///< "the mill"
  std::string_view at;                     ///< "at the mill"
  std::string_view near;                   ///< "near the mill"
  std::array<std::string_view, 3> sights;  ///< what is always there: "a heap of flour sacks"
  std::array<std::string_view, 2> spots;   ///< where a thing can hide: "behind the flour sacks"
};

/// All singular and of "it".
struct Thing {
  std::string_view noun;
  std::string_view looks;  ///< adjectives to choose from
  std::string_view use;    ///< after "to": "fly it in the wind"
};

struct Animal {
  std::string_view name;
  std::string_view home;   ///< "in a nest of dry leaves under the hedge"
  std::string_view food;   ///< without article: "beetles and worms"
  std::string_view habit;  ///< past tense after "it"
  std::string_view sound;  ///< "a soft snuffle"
  std::string_view gift;   ///< what it can do well, after "can": "smell anything from far away"
};

struct Worker {
  std::string_view job;
  Person person;
  std::string_view tool;     ///< "wooden shovel"
  std::string_view work;     ///< infinitive: "bake bread"
  std::string_view present;  ///< "bakes bread"
  std::string_view home;     ///< "by the mill"
  std::string_view problem;  ///< a past-tense clause: what this worker is needed for
  std::string_view remedy;   ///< past tense, after the worker's pronoun
};

struct Wish {
  std::string_view wish;      ///< after "wanted to"
  std::string_view obstacle;  ///< after "but"
  std::string_view practice;  ///< a sentence
  std::string_view failure;   ///< after "the first time"
  std::string_view success;   ///< a sentence
};

struct Weather {
  std::string_view now;     ///< "a soft rain was falling"
  std::string_view effect;  ///< "the path was full of puddles"
};

std::span<const Person> people();
std::span<const Place> places();
std::span<const Thing> things();
std::span<const Animal> animals();
std::span<const Worker> workers();
std::span<const Wish> wishes();
std::span<const Weather> weathers();
/// With its article: "a honey cake".
std::span<const std::string_view> foods();

}  // namespace athanor::story
