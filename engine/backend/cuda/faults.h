// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/base/error.h"

namespace athanor::cuda {

/// What can go wrong on a card.
enum class Fault {
  out_of_memory,
  lost,       ///< fallen off the bus, reset, or stopped by a fault in a kernel
  no_kernel,  ///< the plug-in has none for this card
  other,
};

/// The error that a person reads when `action` ("copy to the card") failed; `detail` is what the
/// driver says.
Error fault_error(Fault fault, const std::string& action, const std::string& detail);

}  // namespace athanor::cuda
