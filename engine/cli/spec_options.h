// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "engine/cli/commands.h"
#include "engine/cli/setting_options.h"
#include "engine/cli/source_options.h"
#include "engine/session/run_spec.h"

namespace athanor {

/// Options that say what to train: a preset or a file of settings, a text, a name and single
/// settings. They live as long as the App.
class SpecOptions {
 public:
  SpecOptions();
  SpecOptions(const SpecOptions&) = delete;
  SpecOptions& operator=(const SpecOptions&) = delete;

  void add_to(CLI::App& command);
  /// Throws invalid_argument naming the option.
  RunSpec spec(const GlobalOptions& global) const;
  /// A message with "train.micro_batch" replaced by "--batch", and so on.
  std::string in_terms_of_options(const std::string& message) const;

 private:
  RunSpec base_spec(const GlobalOptions& global) const;
  void set_tokenizer(RunSpec& spec) const;

  SettingOptions settings_;
  std::string preset_;
  std::string spec_file_;
  SourceOptions sources_;
  std::string name_;
  std::string tokenizer_;
  CLI::Option* preset_given_ = nullptr;
  CLI::Option* spec_given_ = nullptr;
  CLI::Option* name_given_ = nullptr;
  CLI::Option* tokenizer_given_ = nullptr;
};

}  // namespace athanor
