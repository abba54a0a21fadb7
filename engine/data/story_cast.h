// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/data/story_grammar.h"

namespace athanor::story {

/// Chooses who and what one story is about: all slots that its texts may name.
Slots choose_cast(Choices& choices);

}  // namespace athanor::story
