// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_cast.h"

#include <fmt/format.h>

#include "engine/data/story_details.h"
#include "engine/data/story_plots.h"
#include "engine/data/story_world.h"

namespace athanor::story {

namespace {

struct Kin {
  std::string_view name;
  bool female;
};

constexpr Kin kKin[] = {{"mother", true}, {"father", false},      {"grandmother", true},
                        {"aunt", true},   {"grandfather", false}, {"uncle", false},
                        {"sister", true}, {"brother", false}};

struct PronounNames {
  std::string_view subject;
  std::string_view object;
  std::string_view possessive;
};

void set_pronouns(Slots& slots, const PronounNames& names, bool female) {
  slots.set(names.subject, female ? "she" : "he");
  slots.set(names.object, female ? "her" : "him");
  slots.set(names.possessive, female ? "her" : "his");
}

void set_people(Slots& slots, Choices& choices) {
  const auto [hero, other] = choices.two_numbers(people().size());
  slots.set("hero", std::string(people()[hero].name));
  slots.set("child", people()[hero].female ? "girl" : "boy");
  slots.set("himself", people()[hero].female ? "herself" : "himself");
  set_pronouns(slots, {"he", "him", "his"}, people()[hero].female);
  slots.set("friend", std::string(people()[other].name));
  set_pronouns(slots, {"fhe", "fhim", "fhis"}, people()[other].female);
  const Kin& kin = choices.one_of<Kin>(kKin);
  slots.set("kin", std::string(kin.name));
  set_pronouns(slots, {"khe", "khim", "khis"}, kin.female);
}

void set_workers(Slots& slots, Choices& choices) {
  const auto [first, second] = choices.two_numbers(workers().size());
  const Worker& worker = workers()[first];
  slots.set("worker", std::string(worker.person.name));
  slots.set("job", std::string(worker.job));
  slots.set("tool", std::string(worker.tool));
  slots.set("work", std::string(worker.work));
  slots.set("works", std::string(worker.present));
  slots.set("worker_home", std::string(worker.home));
  slots.set("problem", std::string(worker.problem));
  slots.set("remedy", std::string(worker.remedy));
  set_pronouns(slots, {"whe", "whim", "whis"}, worker.person.female);
  const Worker& other = workers()[second];
  slots.set("worker2", std::string(other.person.name));
  slots.set("job2", std::string(other.job));
  slots.set("tool2", std::string(other.tool));
  slots.set("works2", std::string(other.present));
  slots.set("worker2_home", std::string(other.home));
  set_pronouns(slots, {"whe2", "whim2", "whis2"}, other.person.female);
}

void set_places(Slots& slots, Choices& choices) {
  const auto [first, second] = choices.two_numbers(places().size());
  const Place& place = places()[first];
  const auto [spot, other_spot] = choices.two_numbers(place.spots.size());
  const auto [sight, other_sight] = choices.two_numbers(place.sights.size());
  slots.set("place", std::string(place.name));
  slots.set("at", std::string(place.at));
  slots.set("near", std::string(place.near));
  slots.set("spot", std::string(place.spots[spot]));
  slots.set("other_spot", std::string(place.spots[other_spot]));
  slots.set("sight", std::string(place.sights[sight]));
  slots.set("other_sight", std::string(place.sights[other_sight]));
  const Place& place2 = places()[second];
  slots.set("place2", std::string(place2.name));
  slots.set("at2", std::string(place2.at));
  slots.set("near2", std::string(place2.near));
  slots.set("spot2", std::string(choices.one_of<std::string_view>(place2.spots)));
  slots.set("sight2", std::string(choices.one_of<std::string_view>(place2.sights)));
}

void set_things(Slots& slots, Choices& choices) {
  const auto [first, second] = choices.two_numbers(things().size());
  const auto described = [&](const Thing& thing) {
    return expand(fmt::format("[{}] {}", thing.looks, thing.noun), slots, choices);
  };
  slots.set("thing", described(things()[first]));
  slots.set("noun", std::string(things()[first].noun));
  slots.set("use", std::string(things()[first].use));
  slots.set("thing2", described(things()[second]));
  slots.set("noun2", std::string(things()[second].noun));
  slots.set("use2", std::string(things()[second].use));
  const auto [food, food2] = choices.two_numbers(foods().size());
  slots.set("food", std::string(foods()[food]));
  slots.set("food2", std::string(foods()[food2]));
}

void set_nature(Slots& slots, Choices& choices) {
  const Animal& animal = choices.one_of(animals());
  slots.set("animal", std::string(animal.name));
  slots.set("home", std::string(animal.home));
  slots.set("afood", std::string(animal.food));
  slots.set("habit", std::string(animal.habit));
  slots.set("sound", std::string(animal.sound));
  slots.set("gift", std::string(animal.gift));
  const Weather& weather = choices.one_of(weathers());
  slots.set("weather", std::string(weather.now));
  slots.set("effect", std::string(weather.effect));
}

void set_wish(Slots& slots, Choices& choices) {
  const Wish& wish = choices.one_of(wishes());
  slots.set("wish", std::string(wish.wish));
  slots.set("obstacle", std::string(wish.obstacle));
  slots.set("practice", std::string(wish.practice));
  slots.set("failure", std::string(wish.failure));
  slots.set("success", std::string(wish.success));
}

}  // namespace

Slots choose_cast(Choices& choices) {
  Slots slots;
  set_people(slots, choices);
  set_workers(slots, choices);
  set_places(slots, choices);
  set_things(slots, choices);
  set_nature(slots, choices);
  set_wish(slots, choices);
  add_details(slots, choices);
  slots.set("opening", std::string(choices.one_of(openings())));
  slots.set("close", std::string(choices.one_of(closings())));
  slots.set("day",
            "[[one|early one] morning|[one|late one] evening|one [spring|summer|autumn|winter] day|"
            "on a [Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday]|on market day|"
            "one afternoon|the day before the feast]");
  return slots;
}

}  // namespace athanor::story
