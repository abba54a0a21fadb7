// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/data/corpus_source.h"

namespace athanor {

/// Of a document's text: XXH3, 64 bits. What depends on a document alone (whether it is held out,
/// how often it is repeated) follows from it.
std::uint64_t document_hash(std::string_view text);

/// Numbers that agree in as many places, on average, as two texts have runs of five words in common
/// of all that they have (Jaccard similarity; Broder 1997). One permutation hashing with 128 bins,
/// empty ones filled from others (Shrivastava 2017), one byte of each kept.
struct TextSketch {
  static constexpr std::size_t kBins = 128;
  std::array<std::uint8_t, kBins> bytes{};
  /// Hashes of kBands groups of bins: texts that share one are compared.
  static constexpr std::size_t kBands = 16;
  std::array<std::uint64_t, kBands> bands{};
};

/// Words are runs of ASCII letters and digits, upper case as lower, and every other character that
/// is no white space or ASCII punctuation by itself.
TextSketch sketch_of(std::string_view text);

/// The estimate of how alike two texts are, 0 … 1; its error is about 0.04 for texts 0.8 alike.
double similarity(const TextSketch& a, const TextSketch& b);

/// Says of documents, in their order, whether an earlier one was the same: byte for byte
/// (remove_exact; of 10 million different ones the chance that any two are confused is 3 in a
/// million), or nearly (remove_near: sketches that share one of 16 bands of 8 bins, which texts 0.8
/// alike do with a probability of 0.95, and estimated to be at least as alike as asked). Memory for
/// each document: 8 to 16 bytes, or about 500.
class DuplicateFilter {
 public:
  explicit DuplicateFilter(const CorpusOptions& options) : options_(options), hashes_(1 << 10) {}

  bool wants_sketches() const { return options_.duplicates == Duplicates::remove_near; }
  /// `sketch` is looked at only where wants_sketches().
  bool is_duplicate(std::uint64_t hash, const TextSketch& sketch);

 private:
  bool insert(std::uint64_t hash);

  CorpusOptions options_;
  std::vector<std::uint64_t> hashes_;  ///< open addressing; 0: free
  std::size_t used_ = 0;
  std::vector<std::array<std::uint8_t, TextSketch::kBins>> sketches_;
  /// The documents of each band's hash: the last one, and before[document * kBands + band] leads
  /// on.
  std::unordered_map<std::uint64_t, std::uint32_t> last_of_band_;
  std::vector<std::uint32_t> before_;
};

}  // namespace athanor
