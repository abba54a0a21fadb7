// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/base/json_fwd.h"

namespace athanor {

/// The values a number may take, ends included.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// A settings struct lists its fields once, in `visit_fields(struct&, visitor)`, as
/// visitor("name", field, Bounds{…}). Enums give their names by `names_of(Enum)`.
/// This visitor reads them from a JSON object; absent fields keep their defaults.
class SettingsReader {
 public:
  /// `place` names the object in messages, e.g. "train"; empty for the top level.
  SettingsReader(const Json& object, std::string place);

  template <class T>
  void operator()(const char* name, T& field, Bounds bounds = {}) {
    known_.insert(name);
    if (const Json* value = find(name)) read(*value, name, field, bounds);
  }

  /// A field that is read by other means.
  void know(const char* name) { known_.insert(name); }

  /// Refuses fields that no one asked for: most often a spelling mistake.
  void refuse_unknown() const;

 private:
  template <class T>
  void read(const Json& value, const char* name, T& field, Bounds bounds) const {
    if constexpr (std::is_enum_v<T>) {
      field = static_cast<T>(read_name(value, name, names_of(T{})));
    } else if constexpr (std::is_same_v<T, bool>) {
      field = read_bool(value, name);
    } else if constexpr (std::is_integral_v<T>) {
      field = static_cast<T>(read_integer(value, name, bounds));
    } else if constexpr (std::is_floating_point_v<T>) {
      field = static_cast<T>(read_real(value, name, bounds));
    } else {
      field = read_text(value, name);
    }
  }

  /// Null when the object has no such field.
  const Json* find(const char* name) const;
  std::int64_t read_integer(const Json& value, const char* name, Bounds bounds) const;
  double read_real(const Json& value, const char* name, Bounds bounds) const;
  bool read_bool(const Json& value, const char* name) const;
  std::string read_text(const Json& value, const char* name) const;
  int read_name(const Json& value, const char* name, std::span<const std::string_view> names) const;
  std::string path(const char* name) const;

  const Json& object_;
  std::string place_;
  std::set<std::string> known_;
};

/// Writes a settings struct's fields into a JSON object.
class SettingsWriter {
 public:
  explicit SettingsWriter(Json& object) : object_(object) {}

  template <class T>
  void operator()(const char* name, T& field, Bounds = {}) {
    if constexpr (std::is_enum_v<T>) {
      write(name, std::string(names_of(T{})[static_cast<std::size_t>(field)]));
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      write(name, static_cast<std::int64_t>(field));
    } else {
      write(name, field);
    }
  }

 private:
  void write(const char* name, std::int64_t value);
  void write(const char* name, double value);
  void write(const char* name, bool value);
  void write(const char* name, const std::string& value);

  Json& object_;
};

/// Throws the invalid_argument that a value outside its bounds deserves, naming `path`.
void check_bounds(double value, const std::string& path, Bounds bounds, bool whole);

/// Checks fields that were set in code, such as from the window, by the same bounds.
class SettingsChecker {
 public:
  explicit SettingsChecker(std::string place) : place_(std::move(place)) {}
  template <class T>
  void operator()(const char* name, T& field, Bounds bounds = {}) const {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      check_bounds(static_cast<double>(field), place_.empty() ? name : place_ + "." + name, bounds,
                   std::is_integral_v<T>);
    }
  }

 private:
  std::string place_;
};

template <class Settings>
Settings settings_from_json(const Json& object, const std::string& place) {
  Settings settings;
  SettingsReader reader(object, place);
  visit_fields(settings, reader);
  reader.refuse_unknown();
  return settings;
}

/// `Object` is a parameter so that only callers need the whole of Json.
template <class Settings, class Object = Json>
Object settings_to_json(Settings settings) {
  Object object;
  SettingsWriter writer(object);
  visit_fields(settings, writer);
  return object;
}

template <class Settings>
void check_settings(Settings settings, const std::string& place) {
  SettingsChecker checker(place);
  visit_fields(settings, checker);
}

/// "one, two or three"
std::string choices_text(std::span<const std::string_view> names);

}  // namespace athanor
