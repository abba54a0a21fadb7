// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_details.h"

#include "engine/data/story_world.h"

namespace athanor::story {

namespace {

constexpr std::string_view kAbout[] = {
    "{he} wore a {colour} {garment} with {number} [buttons|pockets|patches|bells|holes].",
    "{he} had {hair} hair, and {his} {garment} was always {colour}.",
    "{he} liked {food} in the morning and {food2} in the evening.",
    "{he} could count up to {number} hundred and knew {number} songs by heart.",
    "{he} was afraid of {fear}, but not of {fear2}.",
    "in {his} pocket {he} kept {number} {small_things} and a {thing}.",
    "{his} neighbour was {worker}, the {job}, who {works} with a {tool}.",
    "{he} had {number} cousins, and the eldest was called {person}.",
    "{he} often dreamed of {dream}, and sometimes of {dream2}.",
    "{his} room was {colour}, and from the window {he} could see {place}.",
    "every {weekday} {he} helped {person} to {chore}.",
    "people said that {he} was as {quality} as a {animal}.",
    "there was a {animal} in the yard, and {he} gave it {animal_food} every {weekday}.",
    "{he} knew that {worker} the {job} {works} and lives {worker_home}.",
    "on {weekday} {he} had to {chore}, and on {weekday2} {he} was free.",
    "{he} owned a {thing} and a {colour} {garment}, and that was all.",
};

constexpr std::string_view kScenes[] = {
    "at a corner {he} greeted {worker}, the {job}, who {works}.",
    "{he} passed {person} and {person2}, who were {doing} {at}.",
    "somewhere {sound} could be heard, for a {animal} lives {animal_home}.",
    "a {animal} crossed the road, stopped and {habit}.",
    "{number} [white|grey|wild|noisy|hungry|young] {birds} flew over the roofs.",
    "the clock struck {number}, and it smelled of {smell} and {smell2}.",
    "{worker} was carrying a {tool} and had no time to talk.",
    "a cart with {number} barrels of {goods} rolled by, and the driver was {doing_alone}.",
    "{he} thought of {dream} and almost stepped on a {thing}.",
    "{person} waved from a window and held up a {colour} {garment}.",
    "near a {colour} door sat a {animal} and ate {animal_food}.",
    "{he} counted {number} {small_things} in the grass and took one of them along.",
    "an old {man} with a {colour} {garment} was {doing_alone}.",
    "{person} was on the way to {worker} the {job}, because {worker} {works}.",
    "behind a fence {person} tried to {chore}, and a {animal} watched.",
    "somebody had forgotten a {thing} on a bench, next to {food}.",
    "it smelled of {smell}, and {person} was selling {goods} for {number} coins.",
    "{person} told {him} that a {animal} can {gift}.",
};

struct WordList {
  std::string_view slot;
  std::string_view words;
};

constexpr WordList kWords[] = {
    {"colour", "[red|blue|green|yellow|white|black|brown|grey|golden|purple|orange|pink]"},
    {"garment",
     "[coat|hat|shirt|scarf|jacket|cap|pair of boots|cloak|apron|belt|waistcoat|jumper]"},
    {"number", "[two|three|four|five|six|seven|eight|nine|ten|eleven|twelve]"},
    {"small_things",
     "[buttons|stones|shells|coins|beads|acorns|chestnuts|marbles|feathers|pins|nails|beans]"},
    {"hair", "[curly|straight|brown|black|fair|red|short|long|tangled|dark]"},
    {"dream",
     "[the sea|a white ship|high mountains|a talking bear|a house of glass|the moon|a golden "
     "bridge|an "
     "island without people|a dance in the rain|a river of milk|flying|a garden full of lanterns]"},
    {"weekday", "[Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday]"},
    {"chore",
     "[carry water|sweep the yard|chop wood|feed the hens|pick berries|wash the windows|peel "
     "potatoes|mend "
     "the fence|hang out the washing|stack the plates|weed the garden|light the stove]"},
    {"quality", "[quick|patient|stubborn|quiet|clever|hungry|careful|cheerful|strong|curious]"},
    {"doing",
     "[playing cards|singing|arguing|eating cherries|looking at the clouds|mending a "
     "net|dancing|building a "
     "wall of sand|counting money|sharing a loaf of bread|feeding the birds|telling jokes]"},
    {"doing_alone",
     "[asleep|whistling|yawning|reading a letter|peeling an orange|looking for a coin|drawing a "
     "map|talking "
     "to the horse|polishing a boot|laughing at nothing|humming a song|rubbing both hands]"},
    {"birds", "[geese|swallows|crows|pigeons|ducks|sparrows|starlings|storks|gulls|finches]"},
    {"smell",
     "[smoke|fresh bread|wet grass|fish|apples|tar|roses|soap|hay|coffee|onions|snow|cinnamon|old "
     "paper]"},
    {"goods", "[salt|fish|apples|nails|honey|flour|wool|oil|cheese|cabbage|candles|sugar]"},
    {"man", "[man|woman|sailor|soldier|merchant|farmer|hunter|nurse|monk|musician]"},
    {"fear",
     "[spiders|thunder|deep water|the dark|geese|loud voices|big dogs|high "
     "ladders|bees|ghosts|long "
     "words|strangers]"},
};

/// Two different lists of fixed words would repeat a slot's value in one sentence, so a second slot
/// of the same list is drawn until it differs.
void set_second(Slots& slots, Choices& choices, std::string_view first, std::string_view second,
                std::string_view words) {
  std::string value;
  do {
    value = expand(words, slots, choices);
  } while (value == slots.get(first));
  slots.set(second, std::move(value));
}

std::string_view words_of(std::string_view slot) {
  for (const WordList& list : kWords) {
    if (list.slot == slot) return list.words;
  }
  return {};
}

void set_words(Slots& slots, Choices& choices) {
  for (const WordList& list : kWords) {
    // Numbers and colours are drawn anew at each use.
    const bool fixed = list.slot != "number" && list.slot != "colour";
    slots.set(list.slot, fixed ? expand(list.words, slots, choices) : std::string(list.words));
  }
  set_second(slots, choices, "dream", "dream2", words_of("dream"));
  set_second(slots, choices, "smell", "smell2", words_of("smell"));
  set_second(slots, choices, "fear", "fear2", words_of("fear"));
  set_second(slots, choices, "weekday", "weekday2", words_of("weekday"));
}

/// Everyone and everything in the details but the hero is new.
Slots choose_extras(const Slots& main, Choices& choices) {
  Slots extras;
  for (const std::string_view name : {"he", "him", "his", "hero", "kin"}) {
    extras.set(name, main.get(name));
  }
  const auto new_person = [&] {
    for (;;) {
      const std::string name(choices.one_of(people()).name);
      if (name != main.get("hero") && name != main.get("friend")) return name;
    }
  };
  extras.set("person", new_person());
  std::string other = new_person();
  while (other == extras.get("person"))
    other = new_person();
  extras.set("person2", std::move(other));
  const Worker& worker = choices.one_of(workers());
  extras.set("worker", std::string(worker.person.name));
  extras.set("job", std::string(worker.job));
  extras.set("works", std::string(worker.present));
  extras.set("tool", std::string(worker.tool));
  extras.set("worker_home", std::string(worker.home));
  const Animal& animal = choices.one_of(animals());
  extras.set("animal", std::string(animal.name));
  extras.set("animal_home", std::string(animal.home));
  extras.set("animal_food", std::string(animal.food));
  extras.set("habit", std::string(animal.habit));
  extras.set("sound", std::string(animal.sound));
  extras.set("gift", std::string(animal.gift));
  const Place& place = choices.one_of(places());
  extras.set("place", std::string(place.name));
  extras.set("at", std::string(place.at));
  const auto [food, food2] = choices.two_numbers(foods().size());
  extras.set("food", std::string(foods()[food]));
  extras.set("food2", std::string(foods()[food2]));
  const auto new_thing = [&] {
    for (;;) {
      const std::string noun(choices.one_of(things()).noun);
      if (noun != main.get("noun") && noun != main.get("noun2")) return noun;
    }
  };
  extras.set("thing", new_thing());
  set_words(extras, choices);
  return extras;
}

}  // namespace

void add_details(Slots& slots, Choices& choices) {
  const auto detail = [&](std::string_view text) {
    return expand(text, choose_extras(slots, choices), choices);
  };
  const auto [about, about2] = choices.two_numbers(std::size(kAbout));
  const auto [scene, scene2] = choices.two_numbers(std::size(kScenes));
  std::string first = detail(kAbout[about]);
  if (choices.chance(50)) first.append(" ").append(detail(kAbout[about2]));
  slots.set("about", std::move(first));
  slots.set("scene", detail(kScenes[scene]));
  slots.set("scene2", detail(kScenes[scene2]));
}

}  // namespace athanor::story
