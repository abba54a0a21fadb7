// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/base/settings.h"

namespace athanor {

/// The model that a run's adapters are trained beside: a checkpoint of another run. It is not
/// copied, so it must stay.
struct AdapterBase {
  std::string checkpoint;   ///< its folder; empty: none
  std::string fingerprint;  ///< of its weights (RunWeights::fingerprint)
};

template <class Visitor>
void visit_fields(AdapterBase& base, Visitor& visitor) {
  visitor("checkpoint", base.checkpoint);
  visitor("fingerprint", base.fingerprint);
}

}  // namespace athanor
