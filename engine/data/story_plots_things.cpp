// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_plots.h"

namespace athanor::story {

namespace {

constexpr Beat kLostAndFoundByFriend[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100,
     "[{he} had a {thing}, and {he} [loved to|liked nothing better than to] {use}.|{his} [best "
     "toy|dearest treasure|favourite thing] was a {thing} that {his} {kin} had given {him}.]"},
    {100,
     "{day}, [while {weather}|when {he} came home from {place}], {he} [saw|noticed] that the "
     "{noun} was [gone|missing]."},
    {60,
     "{he} [felt a lump in {his} throat|wanted to cry|was very worried], because [it was the only "
     "one {he} had|{he} had promised to take good care of it]."},
    {80,
     "{he} went back to {place} and looked {spot}, but [it was not there|{he} saw only {sight}]."},
    {50,
     "then {he} looked {other_spot}, but there was [only dust|nothing at all|only a sleeping "
     "beetle]."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {100,
     R"({friend} came by and asked, "[Why are you so sad|What are you looking for|What is wrong], {hero}?" "I have lost my {noun}," said {hero}.)"},
    {90,
     R"("[Two can see more than one|Do not worry, we will look for it together|I will help you]," said {friend}. "[Where did you play yesterday|Where have you been|Where did you have it last]?" {hero} thought hard. "I was {at2}," {he} said.)"},
    {100,
     "[so they went to {place2}|together they ran to {place2}], and there {friend} found the "
     "{noun} {spot2}."},
    {70,
     R"({hero} [jumped for joy|laughed out loud|hugged {friend}] and said, "Thank you, {friend}! You are a [true|good|real] friend.")"},
    {60,
     "from then on {he} always [put the {noun} on the shelf|kept the {noun} in a box|took good "
     "care "
     "of the {noun}] before {he} went to bed."},
    {50, "{close}"},
};

constexpr Beat kLostAndFoundByAnimal[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{he} took {his} {thing} everywhere, for {he} loved to {use}."},
    {100,
     "{day}, {he} went to {place} to look at {sight}, and [forgot the {noun}|the {noun} "
     "slipped out of {his} bag] on the way."},
    {90,
     "{he} noticed it only at supper, and [could not eat|could not sleep|felt cold with fear]."},
    {60,
     R"("[We will look tomorrow|It cannot be far|Ask the animals, they see everything]," said {his} {kin}.)"},
    {100, "the next morning, {weather}, and {effect}."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {100, "near {place} {he} heard {sound}, and out came a {animal}."},
    {60, "it {habit} and looked at {hero}."},
    {70, "everyone knows that a {animal} can {gift}."},
    {100,
     "the {animal} led {him} {spot}, and there lay the {noun}, [wet but whole|as good as new|only "
     "a little dirty]."},
    {100,
     "to thank the {animal}, {hero} brought it some {afood}[, because that is what a {animal} "
     "likes "
     "best|]."},
    {50, "{close}"},
};

constexpr Beat kWorkerHelps[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100, "{day}, {problem}."},
    {70, "{hero} [wanted|tried] to help, but {he} [was too small|did not know how|had no {tool}]."},
    {100, R"("[We need|Run and fetch|Only one person can help us:] the {job}," said {his} {kin}.)"},
    {100,
     "{hero} ran [as fast as {he} could|down the lane|through the village] to {worker}, the {job} "
     "who lived {worker_home}."},
    {50, "[on the way {weather}, and {effect}.|it was a long way, and {weather}.]"},
    {75, "{scene}"},
    {60, "{scene2}"},
    {90,
     R"("[Please come with me, {worker}!|Can you help us, {worker}?|We need you, {worker}!]" {he} called.)"},
    {100,
     "{worker} [smiled|nodded|put on {whis} coat], took {whis} {tool} and [came along|followed "
     "{him}|went with {him}]."},
    {100, "[then|without a word|in a short time] {whe} {remedy}."},
    {70,
     R"("How can I thank you?" asked {hero}. "[Bring me {food}|I would like {food}|{food} would be nice]," said {worker}.)"},
    {70,
     "the next day {hero} [took|brought|carried] {food} to {worker}, and [{whe} laughed with "
     "joy|they "
     "ate it together|{whe} showed {him} how to {work}]."},
    {50,
     "[when {he} grew up, {hero} wanted to be a {job} too|since that day {hero} knew what a {tool} "
     "is "
     "good for]."},
    {40, "{close}"},
};

constexpr Beat kErrand[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100,
     "{day}, {worker} the {job} [called {him}|stopped {him} in the street|knocked at the door]."},
    {100,
     R"("[Will you take|Will you carry|Can you bring] this {tool2} to {worker2}, the {job2}?" {whe} asked. "{whe2} lives {worker2_home} and [needs it today|is waiting for it|cannot work without it].")"},
    {80, "{hero} [was proud|felt very important|promised to hurry] and set out at once."},
    {80, "{he} walked past {place}, where {he} saw {sight}[ and {other_sight}|]."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {70, "soon {weather}, and {effect}."},
    {100,
     "[then a fallen tree lay across the path|at the stream the stones were too slippery|suddenly "
     "the path split in two], and {hero} did not know [what to do|how to go on]."},
    {100,
     R"([A {animal} sat there and {habit}. It seemed to say, "follow me," and indeed it knew another way.|{friend} came along with a [rope|map|long stick]. "let us do it together," said {friend}, and together it was easy.])"},
    {100, "in the end {hero} stood before the house of {worker2} and gave {whim2} the {tool2}."},
    {80,
     R"("[Well done|You are just in time|What a brave {child} you are]," said {worker2}, and {whe2} gave {him} {food}.)"},
    {50, "that is how {hero} learned that {worker2} {works2}."},
    {50, "{close}"},
};

constexpr Beat kBrokenAndTold[] = {
    {100, "{opening}"},
    {80, "{about}"},
    {100,
     "on the shelf stood a {thing} that belonged to {his} {kin}, and nobody was allowed to touch "
     "it."},
    {100,
     "{day}, when {he} was alone, {hero} [climbed on a chair|reached up|stood on {his} toes], "
     "because {he} wanted to {use} just once."},
    {100,
     "[it slipped from {his} hands and broke.|there was a loud crack, and the {noun} was broken.]"},
    {80, "{he} [was frightened|turned pale|held {his} breath] and hid it {spot} {at}."},
    {60, "all day {he} could not [play|eat|laugh], although [{weather}|{friend} brought {food}]."},
    {75, "{scene}"},
    {60, "{scene2}"},
    {70,
     R"("[You are so quiet|Something is wrong|You look pale]," said {friend}. {hero} told {fhim} everything. "[Tell the truth|A lie gets heavier every day|Say it, and it will be over]," said {friend}.)"},
    {100, R"(so {hero} went to {his} {kin} and said, "I broke your {noun}. I am sorry.")"},
    {100,
     "{his} {kin} [was silent for a while|sighed|looked at {him} for a long time], and then {khe} "
     "[took {his} hand|smiled|stroked {his} hair]."},
    {90,
     R"("[I am sad about the {noun}, but glad that you told me|A {noun} can be mended, but trust is harder to mend|Thank you for telling me the truth]," {khe} said.)"},
    {70,
     "together they took the pieces to [Gustav the carpenter|Bruno the smith|Edith the "
     "clockmaker], who mended it [for {food}|in one "
     "evening|"
     "and asked for nothing]."},
    {40, "{close}"},
};

constexpr Plot kPlots[] = {kLostAndFoundByFriend, kLostAndFoundByAnimal, kWorkerHelps, kErrand,
                           kBrokenAndTold};

constexpr std::string_view kOpenings[] = {
    "Once there was a [little |young |cheerful |quiet |]{child} named {hero} who lived {near}.",
    "{hero} was a [curious|gentle|shy|busy|clever|stubborn] {child} who lived {near}.",
    "{hero} was a [brave|lively|honest] {child} who lived with {his} {kin} {near}.",
    "{hero} lived in a [small|crooked|white|narrow] house {near2} with {his} {kin}.",
    "There once lived a {child} called {hero}, and {his} house stood {near2}.",
    "In a village {near} lived a [kind|lively|clever|poor|merry] {child} whose name was {hero}.",
    "{hero} lived with {his} {kin} {near}, where everybody knew everybody.",
};

constexpr std::string_view kClosings[] = {
    "And [that night|in the evening] {hero} slept [well|deeply|without a dream].",
    "{hero} never forgot that day.",
    "At home {hero} told it all, and {his} {kin} [laughed|made tea|asked to hear it again].",
    "And if you walk past {place}, you may still hear {hero} tell about it.",
    "[So everything ended well|So the day ended better than it had begun].",
    "Then the [moon rose|lamps were lit|stars came out], and everyone went home.",
    "After that, {hero} was [not so shy any more|a little wiser|much more careful].",
};

}  // namespace

std::span<const Plot> plots_of_things() {
  return kPlots;
}
std::span<const std::string_view> openings() {
  return kOpenings;
}
std::span<const std::string_view> closings() {
  return kClosings;
}

}  // namespace athanor::story
