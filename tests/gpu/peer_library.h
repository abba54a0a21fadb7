// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "tests/gpu/card_peer.h"

namespace athanor {

struct LoadedPeer {
  const CardPeer* peer = nullptr;
  std::string problem;  ///< why there is none
};

/// The library beside the plug-in, for as long as the process lives.
LoadedPeer load_card_peer();

}  // namespace athanor
