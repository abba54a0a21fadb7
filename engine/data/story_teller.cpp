// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_teller.h"

#include "engine/data/story_cast.h"
#include "engine/data/story_plots.h"

namespace athanor::story {

namespace {

Plot choose_plot(Choices& choices) {
  const std::size_t things = plots_of_things().size();
  const std::size_t index = choices.number(things + plots_of_friends().size());
  return index < things ? plots_of_things()[index] : plots_of_friends()[index - things];
}

}  // namespace

std::string tell_story(std::uint64_t seed, std::uint64_t index) {
  Choices choices(seed, index);
  const Slots slots = choose_cast(choices);
  const Plot plot = choose_plot(choices);
  const std::size_t paragraph = plot.size() / 2;
  std::string text;
  for (std::size_t beat = 0; beat < plot.size(); ++beat) {
    if (!choices.chance(plot[beat].percent)) continue;
    if (!text.empty()) text += beat == paragraph ? "\n" : " ";
    text += expand(plot[beat].text, slots, choices);
  }
  return polish(text);
}

}  // namespace athanor::story
