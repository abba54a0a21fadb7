// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/data/story_grammar.h"

namespace athanor::story {

/// Adds {about}, a sentence or two about the hero, and {scene} and {scene2}, what {he} met on the
/// way: small truths of the world that make each story its own. Needs the hero's and places' slots.
void add_details(Slots& slots, Choices& choices);

}  // namespace athanor::story
