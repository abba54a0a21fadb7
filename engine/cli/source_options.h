// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "engine/data/corpus_source.h"

namespace athanor {

/// Throws invalid_argument naming the option unless the text is UTF-8.
void check_utf8(const std::string& flag, const std::string& text);

/// Options that name sources of text and how documents are made of them. They live as long as the
/// App.
class SourceOptions {
 public:
  SourceOptions() = default;
  SourceOptions(const SourceOptions&) = delete;
  SourceOptions& operator=(const SourceOptions&) = delete;

  /// `flag` takes the paths: "--data", or "paths" without dashes for the words that follow.
  void add_to(CLI::App& command, const std::string& flag, const std::string& help);
  /// Puts what was typed in the place of `sources`; what says how they are read applies to all.
  /// Paths become absolute. Throws invalid_argument naming the option.
  void apply(std::vector<CorpusSource>& sources) const;

 private:
  std::string flag_;
  std::vector<std::string> paths_;
  std::vector<std::string> weights_;
  std::string text_;
  std::string boundary_;
  std::string separator_;
  CLI::Option* paths_given_ = nullptr;
  CLI::Option* weights_given_ = nullptr;
  CLI::Option* text_given_ = nullptr;
  CLI::Option* boundary_given_ = nullptr;
  CLI::Option* separator_given_ = nullptr;
};

}  // namespace athanor
