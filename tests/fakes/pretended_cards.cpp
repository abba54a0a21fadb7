// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fakes/pretended_cards.h"

#include <array>

#include "engine/base/file.h"

namespace athanor {

namespace {

constexpr std::array kVariables = {"ATHANOR_CUDA_DRIVER", "ATHANOR_NVML", "ATHANOR_PLUGINS",
                                   "ATHANOR_FAKE_CARDS"};

void set_variable(const char* name, const std::filesystem::path& value) {
  qputenv(name, QByteArray::fromStdString(value.string()));
}

}  // namespace

PretendedCards::PretendedCards() {
  const std::filesystem::path file = folder_.filePath("answers").toStdString();
  set_variable("ATHANOR_FAKE_CARDS", file);
  set_variable("ATHANOR_CUDA_DRIVER", driver());
  set_variable("ATHANOR_NVML", monitoring());
  set_variable("ATHANOR_PLUGINS", good_plugin_folder());
  set({});
}

PretendedCards::~PretendedCards() {
  for (const char* name : kVariables)
    qunsetenv(name);
  // As every other test has it.
  qputenv("ATHANOR_CUDA_DRIVER", "none");
}

void PretendedCards::set(const std::map<std::string, std::string>& answers) {
  for (const auto& [key, value] : answers)
    answers_[key] = value;
  std::string text;
  for (const auto& [key, value] : answers_) {
    if (!value.empty()) text += key + " " + value + "\n";
  }
  write_file_atomically(folder_.filePath("answers").toStdString(), text);
}

DevicePlaces PretendedCards::places() {
  return {.driver = {.library = driver().string(), .plugged_in = {}},
          .plugins = {good_plugin_folder()}};
}

std::filesystem::path PretendedCards::driver() {
  return ATHANOR_FAKE_DRIVER;
}
std::filesystem::path PretendedCards::monitoring() {
  return ATHANOR_FAKE_NVML;
}
std::filesystem::path PretendedCards::old_monitoring() {
  return ATHANOR_FAKE_OLD_NVML;
}
std::filesystem::path PretendedCards::good_plugin_folder() {
  return std::filesystem::path(ATHANOR_STUB_PLUGIN).parent_path();
}
std::filesystem::path PretendedCards::other_version_folder() {
  return std::filesystem::path(ATHANOR_OTHER_PLUGIN).parent_path();
}

std::filesystem::path PretendedCards::emulated_plugin_folder() {
  return std::filesystem::path(ATHANOR_EMULATED_PLUGIN).parent_path();
}

}  // namespace athanor
