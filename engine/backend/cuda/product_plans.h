// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace athanor::cuda {

/// Which way of making each product was found the fastest on a card, kept in a file between runs:
/// JSON with the card's, driver's and library's version, and for each product's key the words that
/// cuBLASLt describes the way by.
class ProductPlans {
 public:
  using Words = std::array<std::uint64_t, 8>;

  /// `device` is the card with all versions that the plans depend on.
  ProductPlans(std::filesystem::path file, std::string device);

  /// Why the file's plans are not used, if it is damaged; those of another device are none.
  const std::string& problem() const { return problem_; }

  std::optional<Words> find(const std::string& product) const;
  void keep(const std::string& product, const Words& words);
  /// Writes the file when something was added. A folder that takes no file is no trouble: the next
  /// run finds the plans anew.
  void save();

 private:
  void load();

  std::filesystem::path file_;
  std::string device_;
  std::string problem_;
  std::map<std::string, Words> plans_;
  bool changed_ = false;
};

}  // namespace athanor::cuda
