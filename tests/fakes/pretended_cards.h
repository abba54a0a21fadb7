// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTemporaryDir>
#include <filesystem>
#include <map>
#include <string>

#include "engine/backend/registry.h"

namespace athanor {

/// Graphics cards that are not there: while it lives, this process and those that it starts find
/// the fake driver, monitoring library and plug-in, which answer what set() says. What a process
/// has found it keeps, so in one program there is one of these, made before find_devices().
class PretendedCards {
 public:
  PretendedCards();
  ~PretendedCards();
  PretendedCards(const PretendedCards&) = delete;
  PretendedCards& operator=(const PretendedCards&) = delete;

  /// An empty value: no answer. What keys there are, say the fakes.
  void set(const std::map<std::string, std::string>& answers);
  /// Where look_for_devices() finds the same.
  static DevicePlaces places();

  static std::filesystem::path driver();
  static std::filesystem::path monitoring();
  static std::filesystem::path old_monitoring();
  static std::filesystem::path good_plugin_folder();
  static std::filesystem::path other_version_folder();
  /// Of the plug-in whose kernels run on the processor.
  static std::filesystem::path emulated_plugin_folder();
  /// Of the pretended driver's card 0.
  static std::string uuid() { return "GPU-00010203-0405-0607-0809-0a0b0c0d0ea0"; }

 private:
  QTemporaryDir folder_;
  std::map<std::string, std::string> answers_;
};

}  // namespace athanor
