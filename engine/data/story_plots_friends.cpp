// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_plots.h"

namespace athanor::story {

namespace {

constexpr Beat kAnimalInNeed[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{day}, {hero} [walked|went|wandered] to {place}."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {100, "suddenly {he} heard {sound}."},
    {100,
     "it was a [small|young|thin] {animal} that [had hurt its leg|was stuck {spot}|had lost its "
     "way|shivered with cold]."},
    {50, R"("[Poor thing|Do not be afraid|I will help you]," whispered {hero}.)"},
    {100,
     "{he} [knew|remembered|had learned from {his} {kin}] that a {animal} eats {afood}, so {he} "
     "[looked for|fetched|brought] some."},
    {80, "the {animal} ate [slowly|everything|until it was full], and then it {habit}."},
    {70,
     "{hero} [wrapped it in {his} coat|made it a warm bed|stayed with it all night] until it was "
     "strong again."},
    {100, "a {animal} lives {home}, and that is where {hero} [took|brought] it."},
    {100,
     "[some days later|a week later|many weeks later], {hero} [got lost {near2}|could not find the "
     "way "
     "home from {place2}], because [it had grown dark|thick fog had come up]."},
    {100,
     "then {he} heard {sound} again: the {animal} had come back, and it walked in front of {him} "
     "until "
     "{he} was home."},
    {60,
     R"("[Who is kind finds kindness|A good deed comes back|Even a {animal} can say thank you]," said {his} {kin}.)"},
    {40, "{close}"},
};

constexpr Beat kWishComesTrue[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{hero} wanted to {wish} [more than anything|very much], but {obstacle}."},
    {80,
     R"({friend} [laughed|shook {fhis} head] and said, "[You will never do it|You are too small for that|I do not believe it].")"},
    {60, "that made {hero} [sad|angry|only more stubborn]."},
    {80, R"({he} asked {his} {kin}, "[How can I learn it|What shall I do|Why is it so hard]?")"},
    {80,
     R"("[Try it again every day|Begin with small steps|Nobody can do it at first]," {khe} said.)"},
    {100, "the first time, {failure}."},
    {50,
     "the second time it was [a little better|not much better], but {he} [only laughed|did not "
     "give up]."},
    {100, "{practice}."},
    {50, "[often {weather}|once {weather}], but that did not stop {him}."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {100, "{success}."},
    {80,
     R"("[I was wrong,|Will you teach me?|That was wonderful,]" said {friend}, and [{hero} smiled|{he} was not angry any more].)"},
    {50, "to celebrate, they shared {food}."},
    {30, "[{close}|since then {hero} and {friend} have been the best of friends.]"},
};

constexpr Beat kSharedMeal[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{day}, {his} {kin} gave {him} {food} for the way to {place}."},
    {70, "{weather}, and {effect}."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {100, "{at} {he} met {friend}, who [sat alone|looked tired|was very quiet]."},
    {100,
     R"("[Are you hungry|What is the matter|Why do you not play]?" asked {hero}. "[I have eaten nothing today|I lost my bread {at2}|We have nothing at home]," said {friend}.)"},
    {70,
     "{hero} was hungry too, [but not as hungry as {friend}|and for a moment {he} did not know "
     "what to "
     "do]."},
    {100,
     "then {he} [gave {friend} half|shared the food with {friend}|gave {friend} the bigger half]."},
    {60,
     "they sat down {spot} and ate together, and [it tasted twice as good|nothing had ever tasted "
     "better|every bite was a feast]."},
    {100,
     "[the next week|a month later|in the winter], {hero} [was ill|hurt {his} foot|had to stay in "
     "bed]."},
    {100, "{friend} came to visit and brought {food2} and a {thing}[, so that {he} could {use}|]."},
    {80, R"("[You shared with me|Now it is my turn|Friends share everything]," said {friend}.)"},
    {60, "[{close}|since then {hero} and {friend} have been the best of friends.]"},
};

constexpr Beat kQuarrel[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{his} best friend was {friend}, who lived {near2}."},
    {100, "{day}, they found a {thing} {spot} {at}."},
    {100,
     R"("[I saw it first|It is mine|Give it to me]!" cried {hero}. "No, [I did|it is mine|let go]!" cried {friend}.)"},
    {80,
     "{hero} wanted to {use}, but {friend} [held it tight|pulled at the other end|would not let "
     "go]."},
    {100, "they pulled until [it broke|something cracked|it tore], and then both were silent."},
    {70, "they went home without a word, and {weather}."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {80,
     "at home {hero} [looked out of the window|could not eat|sat in a corner], because {he} missed "
     "{friend} more than the {noun}."},
    {100,
     R"(The next day {he} [went|ran] to {friend} and said, "I am sorry." "[So am I|I am sorry too]," said {friend}.)"},
    {100,
     "[together they took the {noun} to [Gustav the carpenter|Bruno the smith|Edith the "
     "clockmaker], who knew how to mend it|they mended "
     "the "
     "{noun} with glue and string]."},
    {100,
     "from then on {hero} had it [on even days and {friend} on odd days|in the morning and "
     "{friend} in the evening|one week and {friend} the next]."},
    {40, "[{close}|since then {hero} and {friend} have been the best of friends.]"},
};

constexpr Beat kStorm[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{day}, {hero} and {friend} played {at}, not far from {sight}."},
    {80, "they had {food} with them and a {thing}."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {100,
     "suddenly [the sky turned black|a strong wind came up|big drops began to fall], and [the "
     "thunder "
     "rolled|lightning flashed]."},
    {100, "they [ran|crawled|hid] {spot}, and {friend} [trembled|held {fhis} ears|began to cry]."},
    {100,
     R"("[Do not be afraid|Hold my hand|It will pass soon]," said {hero}, although {he} was afraid {himself}.)"},
    {90,
     "[{he} told a story about a {animal} that lived {home}|{he} sang the song that {his} {kin} "
     "had "
     "taught {him}|they counted the seconds between the lightning and the thunder]."},
    {70, "[after a while|slowly|at last] {friend} [grew calm|smiled again|stopped crying]."},
    {100,
     "when the storm was over, [a rainbow stood over {place}|the air smelled fresh|every leaf was "
     "shining]."},
    {70,
     "the wind had blown a {thing2} to their feet, and they [took it home|gave it back to its "
     "owner|"
     "hung it on a tree]."},
    {80,
     R"("[Were you afraid|Where have you been]?" asked {his} {kin}. "[Only a little|Only until we were two|Not when I had to be brave for {friend}]," said {hero}.)"},
    {30, "[{close}|since then {hero} and {friend} have been the best of friends.]"},
};

constexpr Beat kBirthday[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "it was the birthday of {his} {kin}, and {hero} had no [present|gift|money]."},
    {80,
     R"("What would {khe} like?" asked {friend}. "{khe} would like {food} and a {thing}," said {hero}.)"},
    {100,
     "first {he} went to {place}, but [everything was closed|{he} found only {sight}|the {noun} "
     "there "
     "was too dear]."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {90, "then {he} asked {worker}, the {job} who lived {worker_home}, for advice."},
    {100,
     R"("[The best gift is one you make|Give what only you can give|Use your hands]," said {worker}, who {works}.)"},
    {80, "{worker} lent {him} a {tool}, and {hero} [worked|tried|laboured] until {weather}."},
    {100,
     "[it was not perfect, but it was a real {noun}|the {noun} was a little crooked, but it was "
     "{his} own work]."},
    {100,
     "when {his} {kin} opened the parcel, {khe} [had tears in {khis} eyes|laughed with joy|did not "
     "know what to say]."},
    {80,
     R"("[It is the most beautiful {noun} in the world|Nobody ever made me a {noun}|I will keep it forever]," {khe} said.)"},
    {60, "then they ate {food} and [sang|danced|told stories] until late."},
    {30, "[{close}|since then {hero} and {friend} have been the best of friends.]"},
};

constexpr Plot kPlots[] = {kAnimalInNeed, kWishComesTrue, kSharedMeal, kQuarrel, kStorm, kBirthday};

}  // namespace

std::span<const Plot> plots_of_friends() {
  return kPlots;
}

}  // namespace athanor::story
