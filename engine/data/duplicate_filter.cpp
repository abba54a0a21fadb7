// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/duplicate_filter.h"

#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace athanor {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kRun_words = 5;
/// Documents of one band's hash that are compared at most, the latest first: texts that all begin
/// alike must not take quadratic time.
constexpr int kMostCompared = 64;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15;
  value ^= value >> 29;
  value *= 0xBF58476D1CE4E5B9;
  return value ^ value >> 32;
}

bool is_space_or_punctuation(unsigned char byte) {
  return byte < '0' || (byte > '9' && byte < 'A') || (byte > 'Z' && byte < 'a') ||
         (byte > 'z' && byte < 0x80);
}

/// Calls `visit(hash)` for each word.
template <class Visit>
void for_words(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (is_space_or_punctuation(first)) {
      ++at;
      continue;
    }
    std::uint64_t hash = 0xCBF29CE484222325;
    const auto add = [&](unsigned char byte) {
      hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte)) * 0x100000001B3;
    };
    add(first);
    ++at;
    const auto belongs = [&](unsigned char byte) {
      return first < 0x80 ? byte < 0x80 && !is_space_or_punctuation(byte) : (byte & 0xC0) == 0x80;
    };
    for (; at < text.size() && belongs(static_cast<unsigned char>(text[at])); ++at)
      add(static_cast<unsigned char>(text[at]));
    visit(hash);
  }
}

/// The least hash of each bin over all runs of words.
class Bins {
 public:
  Bins() { least_.fill(kEmpty); }

  void add(std::uint64_t run) {
    const std::uint64_t hash = mixed(run);
    std::uint64_t& bin = least_[hash % TextSketch::kBins];
    bin = std::min(bin, hash >> 7);
  }

  /// Empty bins take over another's, the same for every text that has that one.
  void fill_empty() {
    const std::array<std::uint64_t, TextSketch::kBins> found = least_;
    if (std::ranges::all_of(found, [](std::uint64_t bin) { return bin == kEmpty; })) return;
    for (std::size_t bin = 0; bin < found.size(); ++bin) {
      for (std::uint64_t attempt = 1; least_[bin] == kEmpty; ++attempt)
        least_[bin] = found[mixed(bin << 32 | attempt) % TextSketch::kBins];
    }
  }

  std::uint64_t at(std::size_t bin) const { return least_[bin]; }

 private:
  static constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();
  std::array<std::uint64_t, TextSketch::kBins> least_;
};

}  // namespace

std::uint64_t document_hash(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

TextSketch sketch_of(std::string_view text) {
  Bins bins;
  std::array<std::uint64_t, kRun_words> recent{};
  std::size_t words = 0;
  const auto run_hash = [&] {
    std::uint64_t run = 0;
    for (std::size_t back = 0; back < kRun_words; ++back)
      run = mixed(run + recent[(words + back) % kRun_words]);
    return run;
  };
  for_words(text, [&](std::uint64_t word) {
    recent[words++ % kRun_words] = word;
    if (words >= kRun_words) bins.add(run_hash());
  });
  // Texts without one whole run are compared as such.
  if (words < kRun_words) bins.add(document_hash(text));
  bins.fill_empty();
  TextSketch sketch;
  constexpr std::size_t kRows = TextSketch::kBins / TextSketch::kBands;
  for (std::size_t bin = 0; bin < TextSketch::kBins; ++bin) {
    sketch.bytes[bin] = static_cast<std::uint8_t>(mixed(bins.at(bin)));
    std::uint64_t& band = sketch.bands[bin / kRows];
    band = mixed(band + bins.at(bin) + bin);
  }
  return sketch;
}

double similarity(const TextSketch& a, const TextSketch& b) {
  std::size_t equal = 0;
  for (std::size_t bin = 0; bin < TextSketch::kBins; ++bin)
    equal += a.bytes[bin] == b.bytes[bin] ? 1 : 0;
  // Bytes of different numbers agree once in 256.
  const double share = static_cast<double>(equal) / TextSketch::kBins;
  return std::max(0.0, (share - 1.0 / 256) / (1 - 1.0 / 256));
}

bool DuplicateFilter::insert(std::uint64_t hash) {
  if (hash == 0) hash = 1;
  if (2 * used_ >= hashes_.size()) {
    const std::vector<std::uint64_t> old =
        std::exchange(hashes_, std::vector<std::uint64_t>(2 * hashes_.size()));
    used_ = 0;
    for (const std::uint64_t each : old) {
      if (each != 0) insert(each);
    }
  }
  const std::size_t mask = hashes_.size() - 1;
  std::size_t at = hash & mask;
  while (hashes_[at] != 0 && hashes_[at] != hash)
    at = (at + 1) & mask;
  if (hashes_[at] == hash) return false;
  hashes_[at] = hash;
  ++used_;
  return true;
}

bool DuplicateFilter::is_duplicate(std::uint64_t hash, const TextSketch& sketch) {
  if (options_.duplicates == Duplicates::keep) return false;
  if (!insert(hash)) return true;
  if (!wants_sketches()) return false;
  for (std::size_t band = 0; band < TextSketch::kBands; ++band) {
    const auto found = last_of_band_.find(sketch.bands[band] + band);
    if (found == last_of_band_.end()) continue;
    int compared = 0;
    for (std::uint32_t other = found->second; other != kNone && compared < kMostCompared;
         other = before_[other * TextSketch::kBands + band], ++compared) {
      if (similarity(sketch, {.bytes = sketches_[other]}) >= options_.similarity) return true;
    }
  }
  const auto own = static_cast<std::uint32_t>(sketches_.size());
  sketches_.push_back(sketch.bytes);
  for (std::size_t band = 0; band < TextSketch::kBands; ++band) {
    const auto [place, is_new] = last_of_band_.try_emplace(sketch.bands[band] + band, own);
    before_.push_back(is_new ? kNone : std::exchange(place->second, own));
  }
  return false;
}

}  // namespace athanor
