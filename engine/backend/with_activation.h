// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <type_traits>

#include "engine/backend/operations.h"

namespace athanor {

/// Calls body(constant) with the activation as a constant.
template <class Body>
void with_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::swiglu:
      return body(std::integral_constant<Activation, Activation::swiglu>());
    case Activation::gelu:
      return body(std::integral_constant<Activation, Activation::gelu>());
    case Activation::silu:
      return body(std::integral_constant<Activation, Activation::silu>());
    case Activation::relu2:
      return body(std::integral_constant<Activation, Activation::relu2>());
  }
}

}  // namespace athanor
