// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/settings.h"

#include <fmt/format.h>

#include "engine/base/json.h"

namespace athanor {

namespace {
[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::invalid_argument, message);
}

std::string number_text(double value, bool whole) {
  return whole && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value)
                                         : fmt::format("{:g}", value);
}
}  // namespace

std::string choices_text(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

void check_bounds(double value, const std::string& path, Bounds bounds, bool whole) {
  if (value >= bounds.least && value <= bounds.most) return;
  const std::string least = number_text(bounds.least, whole);
  const std::string most = number_text(bounds.most, whole);
  std::string range = "between " + least + " and " + most;
  if (std::isinf(bounds.most)) range = "at least " + least;
  if (std::isinf(bounds.least)) range = "at most " + most;
  if (std::isinf(bounds.least) && std::isinf(bounds.most)) range = "an ordinary number";
  refuse(path + " must be " + range + "; it is " + number_text(value, whole) + ".");
}

SettingsReader::SettingsReader(const Json& object, std::string place)
    : object_(object), place_(std::move(place)) {
  if (!object.is_object()) {
    refuse((place_.empty() ? std::string("The settings") : place_) +
           " must be a group of fields in braces { }; it is " + object.type_name() + ".");
  }
}

const Json* SettingsReader::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

std::string SettingsReader::path(const char* name) const {
  return place_.empty() ? name : place_ + "." + name;
}

void SettingsReader::refuse_unknown() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    std::string message = "There is no setting " + path(name.c_str()) + ". Known here:";
    for (const std::string& known : known_)
      message += (&known == &*known_.begin() ? " " : ", ") + known;
    refuse(message + ".");
  }
}

std::int64_t SettingsReader::read_integer(const Json& value, const char* name,
                                          Bounds bounds) const {
  if (!value.is_number())
    refuse(path(name) + " must be a whole number; it is " + value.dump() + ".");
  const double real = value.get<double>();
  if (real != std::floor(real)) {
    refuse(path(name) + " must be a whole number; it is " + value.dump() + ".");
  }
  check_bounds(real, path(name), bounds, true);
  if (std::abs(real) > 9.0e18) refuse(path(name) + " is too large a number: " + value.dump() + ".");
  return value.is_number_float() ? static_cast<std::int64_t>(real) : value.get<std::int64_t>();
}

double SettingsReader::read_real(const Json& value, const char* name, Bounds bounds) const {
  if (!value.is_number()) refuse(path(name) + " must be a number; it is " + value.dump() + ".");
  const double real = value.get<double>();
  check_bounds(real, path(name), bounds, false);
  return real;
}

bool SettingsReader::read_bool(const Json& value, const char* name) const {
  if (!value.is_boolean())
    refuse(path(name) + " must be true or false; it is " + value.dump() + ".");
  return value.get<bool>();
}

std::string SettingsReader::read_text(const Json& value, const char* name) const {
  if (!value.is_string())
    refuse(path(name) + " must be text in quotes; it is " + value.dump() + ".");
  return value.get<std::string>();
}

int SettingsReader::read_name(const Json& value, const char* name,
                              std::span<const std::string_view> names) const {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<int>(i);
  }
  refuse(path(name) + " must be " + choices_text(names) + "; it is \"" + text + "\".");
}

void SettingsWriter::write(const char* name, std::int64_t value) {
  object_[name] = value;
}
void SettingsWriter::write(const char* name, double value) {
  object_[name] = value;
}
void SettingsWriter::write(const char* name, bool value) {
  object_[name] = value;
}
void SettingsWriter::write(const char* name, const std::string& value) {
  object_[name] = value;
}

}  // namespace athanor
