// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "engine/cli/commands.h"
#include "engine/session/base_model.h"

namespace athanor {

/// Options of a command that makes a new run of another run's model: which one it is, what is
/// learnt, and the new run's name. They live as long as the App.
class BaseOptions {
 public:
  struct Help {
    const char* base;
    const char* data;
    const char* name;
  };

  BaseOptions() = default;
  BaseOptions(const BaseOptions&) = delete;
  BaseOptions& operator=(const BaseOptions&) = delete;

  void add_to(CLI::App& command, const Help& help);

  /// Throws invalid_argument naming the option.
  std::int64_t run() const;
  /// Throws invalid_argument naming the option, and what open_base_model() throws.
  BaseModel open(const GlobalOptions& global) const;
  const std::string& data() const { return data_; }
  /// The file that was named, absolute; empty when none was.
  std::string data_file() const;
  const std::string& name() const { return name_; }

 private:
  std::string base_;
  std::string checkpoint_;
  std::string data_;
  std::string name_;
  CLI::Option* checkpoint_given_ = nullptr;
};

}  // namespace athanor
