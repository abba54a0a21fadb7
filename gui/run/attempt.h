// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Turns what the engine throws into the sentence a person is shown.

#include <QString>
#include <exception>

namespace athanor {

/// Empty when `action` succeeded, else what went wrong.
template <class Action>
QString attempt(const Action& action) {
  try {
    action();
    return {};
  } catch (const std::exception& error) {
    return QString::fromUtf8(error.what());
  }
}

}  // namespace athanor
