// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/peer_library.h"

#include "engine/backend/cuda/library.h"
#include "engine/backend/cuda/plugin_loader.h"

namespace athanor {

LoadedPeer load_card_peer() {
  std::string problem = std::string(kCardPeerFile) + " is nowhere beside the plug-in";
  for (const std::filesystem::path& folder : plugin_folders()) {
    const Library library((folder / kCardPeerFile).string());
    if (!library.loaded()) {
      if (!library.absent()) problem = library.error();
      continue;
    }
    auto* entry = library.function<const CardPeer*()>("athanor_card_peer");
    if (entry != nullptr) return {.peer = entry(), .problem = {}};
  }
  return {.problem = problem};
}

}  // namespace athanor
