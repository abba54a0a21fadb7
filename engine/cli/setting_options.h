// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <CLI/App.hpp>
#include <deque>
#include <span>
#include <string>

#include "engine/base/json.h"
#include "engine/base/settings.h"

namespace athanor {

/// An option that sets one field of a settings struct.
struct SettingOption {
  const char* flag;   ///< "--batch"
  const char* part;   ///< "train"
  const char* field;  ///< "micro_batch"
  const char* help;
  bool is_flag = false;  ///< given without a value, it sets a truth
};

/// A number where the text is one, else the text itself; the settings' own checks judge it.
Json value_as_typed(const std::string& text);
/// Throws invalid_argument naming `flag` unless the text is a whole number within the bounds.
std::int64_t whole_number(const std::string& flag, const std::string& text, Bounds bounds);

/// Options of a command that set fields, checked by the settings structs themselves; their messages
/// then name the option as it was typed.
class SettingOptions {
 public:
  explicit SettingOptions(std::span<const SettingOption> known) : known_(known) {}

  void add_to(CLI::App& command);

  /// `settings` with what was typed for `part`. Throws invalid_argument naming the option.
  template <class Settings>
  Settings applied(const Settings& settings, const std::string& part) const {
    Json json = settings_to_json(settings);
    set_fields(json, part);
    try {
      return settings_from_json<Settings>(json, part);
    } catch (const Error& error) {
      throw Error(error.kind(), in_terms_of_options(error.message()), error.context());
    }
  }

  bool was_typed(const std::string& flag) const;

  /// A message with "train.micro_batch" replaced by "--batch", and so on.
  std::string in_terms_of_options(std::string message) const;

 private:
  void set_fields(Json& json, const std::string& part) const;

  struct Typed {
    const SettingOption* option;
    CLI::Option* handle;
    std::string text;
  };

  std::span<const SettingOption> known_;
  std::deque<Typed> typed_;  ///< CLI11 keeps references to the texts
};

}  // namespace athanor
