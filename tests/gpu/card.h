// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>

#include "engine/backend/registry.h"
#include "engine/base/json.h"

namespace athanor {

/// What a check ends with where there is no card; scripts tell it from a failure.
inline constexpr int kNot_run = 77;

/// What every program that runs on a card is told.
struct CardOptions {
  std::string device;          ///< "cuda:0"; empty: the first that can be used
  std::filesystem::path json;  ///< results are written here; empty: nowhere
};

/// The card to run on; null when there is none, after printing "not run on a card: …".
const Device* card_to_check(const std::string& id);

/// As CUDA counts.
int card_index(const Device& card);

/// Runs a program's work, which gives its exit code; prints what it throws, which is a failure.
template <class Work>
int run_on_card(const CardOptions& options, const Work& work);

/// Prints an exception, with its context.
void print_failure(const std::exception& problem);
/// Does nothing without a place.
void write_results(const std::filesystem::path& json, const Json& results);

template <class Work>
int run_on_card(const CardOptions& options, const Work& work) {
  try {
    const Device* device = card_to_check(options.device);
    return device == nullptr ? kNot_run : work(*device);
  } catch (const std::exception& problem) {
    print_failure(problem);
    return 1;
  }
}

}  // namespace athanor
