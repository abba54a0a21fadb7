// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

enum class Role { system, user, assistant };
constexpr std::array<std::string_view, 3> names_of(Role) {
  return {"system", "user", "assistant"};
}

struct Message {
  Role role = Role::user;
  std::string text;
  std::string input;    ///< of a user in Alpaca's form: what the instruction is about; may be empty
  bool trained = true;  ///< false where the record gives the message no weight
};

/// At most one system's message, the first; then user and assistant in turns, from the user.
struct Dialogue {
  std::vector<Message> messages;
};

}  // namespace athanor
