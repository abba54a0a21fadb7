// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/chat/chat_template.h"
#include "engine/chat/conversation_file.h"

namespace athanor {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::damaged, what);
}

std::string shown(const std::string& text) {
  constexpr std::size_t kMost = 40;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "…";
}

struct RoleName {
  std::string_view name;
  Role role;
};
constexpr std::array kRoles = {
    RoleName{"system", Role::system},       RoleName{"developer", Role::system},
    RoleName{"user", Role::user},           RoleName{"human", Role::user},
    RoleName{"assistant", Role::assistant}, RoleName{"gpt", Role::assistant},
    RoleName{"chatgpt", Role::assistant},   RoleName{"model", Role::assistant},
};

Role role_of(const Json& value, const std::string& place) {
  if (!value.is_string()) refuse(place + " must be a text that names a role");
  const auto& text = value.get_ref<const std::string&>();
  const auto* const found = std::ranges::find(kRoles, text, &RoleName::name);
  if (found != kRoles.end()) return found->role;
  refuse(fmt::format("{} is \"{}\"; only system, user (human) and assistant (gpt) are known", place,
                     shown(text)));
}

const Json& field(const Json& object, const char* name, const std::string& place) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(fmt::format("{}\"{}\" is missing", place, name));
  return *found;
}

/// A text, or empty where the field is absent or null.
std::string text_in(const Json& object, const char* name, const std::string& place) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) refuse(fmt::format("{}\"{}\" is not a text", place, name));
  return found->get<std::string>();
}

std::string text_of_parts(const Json& parts, const std::string& place) {
  std::string text;
  for (const Json& part : parts) {
    const std::string type = part.is_object() ? text_in(part, "type", place) : std::string();
    if (type != "text") {
      refuse(fmt::format("{}has a part of the type \"{}\"; only \"text\" can be trained", place,
                         shown(type)));
    }
    const char* const name = part.contains("value") ? "value" : "text";
    field(part, name, place);
    text += text_in(part, name, place);
  }
  return text;
}

/// 0 or 1: a share of a message's weight cannot be trained.
bool is_trained(const Json& message, const std::string& place) {
  for (const char* name : {"loss_weight", "weight"}) {
    const auto found = message.find(name);
    if (found == message.end() || found->is_null()) continue;
    if (!found->is_number() || (*found != 0 && *found != 1)) {
      refuse(fmt::format("{}\"{}\" is {}; only 0 and 1 are supported", place, name,
                         shown(found->dump(-1, ' ', false, Json::error_handler_t::replace))));
    }
    return *found == 1;
  }
  return true;
}

struct Names {
  const char* role;
  const char* text;
};

void add_messages(const Json& list, Names names, const std::string& of, Dialogue& to) {
  if (!list.is_array()) refuse(of + " is not a list of messages");
  std::int64_t number = 0;
  for (const Json& message : list) {
    const std::string place = fmt::format("message {} of {}: ", ++number, of);
    if (!message.is_object()) refuse(place + "it is not an object");
    Message made{.role = role_of(field(message, names.role, place), place + names.role)};
    const Json& content = field(message, names.text, place);
    if (content.is_array()) {
      made.text = text_of_parts(content, place);
    } else if (content.is_string()) {
      made.text = content.get<std::string>();
    } else {
      refuse(fmt::format("{}\"{}\" is neither a text nor a list of parts", place, names.text));
    }
    for (const char* calls : {"tool_calls", "function_call"}) {
      if (message.contains(calls)) refuse(place + "calls of tools cannot be trained yet");
    }
    made.trained = is_trained(message, place);
    to.messages.push_back(std::move(made));
  }
}

void add_system(const Json& record, Dialogue& to) {
  if (std::string system = text_in(record, "system", ""); !system.empty())
    to.messages.push_back({.role = Role::system, .text = std::move(system)});
}

Dialogue from_alpaca(const Json& record) {
  Dialogue made;
  add_system(record, made);
  if (const auto history = record.find("history"); history != record.end() && !history->is_null()) {
    if (!history->is_array()) refuse("\"history\" is not a list of pairs");
    for (const Json& pair : *history) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
        refuse("\"history\" must hold pairs of texts: what was asked and what was answered");
      made.messages.push_back({.role = Role::user, .text = pair[0].get<std::string>()});
      made.messages.push_back({.role = Role::assistant, .text = pair[1].get<std::string>()});
    }
  }
  field(record, "output", "");
  made.messages.push_back({.role = Role::user,
                           .text = text_in(record, "instruction", ""),
                           .input = text_in(record, "input", "")});
  made.messages.push_back({.role = Role::assistant, .text = text_in(record, "output", "")});
  return made;
}

void add_side(const Json& record, const char* name, Role role, Dialogue& to) {
  const Json& side = record.at(name);
  if (side.is_array())
    return add_messages(side, {"role", "content"}, fmt::format("\"{}\"", name), to);
  to.messages.push_back({.role = role, .text = text_in(record, name, "")});
}

Dialogue from_json(const Json& record) {
  if (!record.is_object()) refuse("the record is not an object");
  Dialogue made;
  const char* const completion = record.contains("completion") ? "completion" : "response";
  if (record.contains("messages")) {
    add_messages(record["messages"], {"role", "content"}, "\"messages\"", made);
  } else if (record.contains("conversations")) {
    add_system(record, made);
    add_messages(record["conversations"], {"from", "value"}, "\"conversations\"", made);
  } else if (record.contains("instruction")) {
    return from_alpaca(record);
  } else if (record.contains("prompt") && record.contains(completion)) {
    add_system(record, made);
    add_side(record, "prompt", Role::user, made);
    add_side(record, completion, Role::assistant, made);
  } else {
    refuse(
        "it is of no known form: \"messages\", \"conversations\", \"instruction\" with "
        "\"output\", or \"prompt\" with \"completion\"");
  }
  return made;
}

}  // namespace

Dialogue read_conversation(const RecordFile::Record& record, const std::string& place) {
  const Json json = parse_json(record.json, place);
  try {
    Dialogue conversation = from_json(json);
    check_conversation(conversation, false);
    return conversation;
  } catch (const Error& error) {
    throw Error(ErrorKind::damaged,
                fmt::format("{}: {}. Correct the record, or take it out.", place, error.message()));
  }
}

}  // namespace athanor
