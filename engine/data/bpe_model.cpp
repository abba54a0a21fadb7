// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/bpe_model.h"

#include <algorithm>
#include <queue>

#include "engine/base/utf8.h"

namespace athanor {

namespace {

constexpr std::size_t kShort_tokens = 48;

/// Bytes of the symbol at `at`; a byte that starts no character counts as one.
std::size_t symbol_bytes(std::string_view piece, std::size_t at, bool characters) {
  return characters ? std::max<std::size_t>(1, utf8_character_bytes(piece, at)) : 1;
}

}  // namespace

BpeModel::BpeModel(Parts parts)
    : parts_(std::move(parts)),
      merges_(static_cast<std::int64_t>(parts_.merges.size())),
      whole_(parts_.tokens.size()) {
  for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
    const Merge& merge = parts_.merges[rank];
    merges_.insert(merge.left, merge.right, {static_cast<std::int32_t>(rank), merge.result});
  }
  // Characters are looked up here while tokens are tried: first those alone, then the rest.
  const auto add = [this](std::size_t id) {
    whole_.insert(parts_.tokens[id], static_cast<std::int32_t>(id));
  };
  const auto is_symbol = [this](const std::string& token) {
    return !token.empty() && symbol_bytes(token, 0, parts_.characters) == token.size();
  };
  for (std::size_t id = 0; id < parts_.tokens.size(); ++id) {
    if (is_symbol(parts_.tokens[id])) add(id);
  }
  std::vector<std::int32_t> ids;
  for (std::size_t id = 0; id < parts_.tokens.size(); ++id) {
    const std::string& token = parts_.tokens[id];
    if (token.empty() || is_symbol(token)) continue;
    if (!parts_.whole_pieces) {
      ids.clear();
      encode(token, ids);
      if (ids.size() != 1 || ids.front() != static_cast<std::int32_t>(id)) continue;
    }
    add(id);
  }
}

void BpeModel::begin(std::string_view piece, std::vector<std::int32_t>& ids) const {
  bool after_unknown = false;
  const auto add_unknown = [&] {
    if (parts_.unknown >= 0 && !(parts_.fuse_unknown && after_unknown)) {
      ids.push_back(parts_.unknown);
    }
    after_unknown = true;
  };
  if (!parts_.characters) {
    for (const char byte : piece) {
      const std::int32_t id = parts_.byte_tokens[static_cast<unsigned char>(byte)];
      if (id < 0) {
        add_unknown();
        continue;
      }
      ids.push_back(id);
      after_unknown = false;
    }
    return;
  }
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t bytes = symbol_bytes(piece, at, true);
    const std::string_view character = piece.substr(at, bytes);
    at += bytes;
    const std::int32_t id = whole_.find(character);
    const auto byte_id = [this](char byte) {
      return parts_.byte_tokens[static_cast<unsigned char>(byte)];
    };
    if (id >= 0) {
      ids.push_back(id);
    } else if (std::ranges::all_of(character, [&](char byte) { return byte_id(byte) >= 0; })) {
      std::ranges::transform(character, std::back_inserter(ids), byte_id);
    } else {
      add_unknown();
      continue;
    }
    after_unknown = false;
  }
}

void BpeModel::encode(std::string_view piece, std::vector<std::int32_t>& ids) const {
  const std::size_t first = ids.size();
  begin(piece, ids);
  if (ids.size() - first <= kShort_tokens) {
    merge_short(ids, first);
  } else {
    merge_long(ids, first);
  }
}

void BpeModel::merge_short(std::vector<std::int32_t>& ids, std::size_t first) const {
  std::array<MergeTable::Merge, kShort_tokens> merges;  // [i] is of the tokens i and i + 1
  std::int32_t* const tokens = ids.data() + first;
  std::size_t count = ids.size() - first;
  const auto merge_at = [&](std::size_t at) {
    return at + 1 < count ? merges_.find(tokens[at], tokens[at + 1]) : MergeTable::Merge{};
  };
  for (std::size_t at = 0; at < count; ++at)
    merges[at] = merge_at(at);
  while (count > 1) {
    std::size_t at = 0;
    for (std::size_t other = 1; other + 1 < count; ++other) {
      if (merges[other].rank < merges[at].rank) at = other;
    }
    if (merges[at].rank == MergeTable::kNoMerge) break;
    tokens[at] = merges[at].result;
    std::copy(tokens + at + 2, tokens + count, tokens + at + 1);
    std::copy(merges.begin() + at + 2, merges.begin() + count, merges.begin() + at + 1);
    --count;
    merges[at] = merge_at(at);
    if (at > 0) merges[at - 1] = merge_at(at - 1);
  }
  ids.resize(first + count);
}

namespace {

/// Merges a long run of tokens through a queue of pairs. Tokens are a linked list in place.
class QueuedMerge {
 public:
  QueuedMerge(const MergeTable& table, std::span<const std::int32_t> tokens) : table_(table) {
    nodes_.reserve(tokens.size());
    const auto count = static_cast<std::int32_t>(tokens.size());
    for (std::int32_t at = 0; at < count; ++at) {
      nodes_.push_back(
          {tokens[static_cast<std::size_t>(at)], at - 1, at + 1 < count ? at + 1 : -1});
    }
    for (std::int32_t at = 0; at < count; ++at)
      propose(at);
  }

  void run() {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      Node& left = node(best.at);
      // A merge since then has changed this pair.
      if (left.token != best.left || left.next < 0 || node(left.next).token != best.right) continue;
      Node& right = node(left.next);
      left.token = best.result;
      right.token = -1;
      left.next = right.next;
      if (left.next >= 0) node(left.next).previous = best.at;
      propose(best.at);
      if (left.previous >= 0) propose(left.previous);
    }
  }

  /// The tokens left; returns how many.
  std::size_t write(std::int32_t* out) const {
    std::size_t count = 0;
    for (const Node& each : nodes_) {
      if (each.token >= 0) out[count++] = each.token;
    }
    return count;
  }

 private:
  struct Node {
    std::int32_t token;  ///< −1: merged into one before
    std::int32_t previous;
    std::int32_t next;
  };
  struct Candidate {
    std::int32_t rank;
    std::int32_t at;
    std::int32_t left;
    std::int32_t right;
    std::int32_t result;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
    }
  };

  Node& node(std::int32_t at) { return nodes_[static_cast<std::size_t>(at)]; }

  void propose(std::int32_t at) {
    const Node& left = node(at);
    if (left.next < 0) return;
    const std::int32_t right = node(left.next).token;
    const MergeTable::Merge merge = table_.find(left.token, right);
    if (merge.rank == MergeTable::kNoMerge) return;
    queue_.push({merge.rank, at, left.token, right, merge.result});
  }

  const MergeTable& table_;
  std::vector<Node> nodes_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

void BpeModel::merge_long(std::vector<std::int32_t>& ids, std::size_t first) const {
  QueuedMerge merge(merges_, std::span(ids).subspan(first));
  merge.run();
  ids.resize(first + merge.write(ids.data() + first));
}

namespace {

/// One token being merged from its parts by looking neighbours up in the list of tokens.
class RankMerge {
 public:
  RankMerge(const PieceTable& table, const std::vector<std::int32_t>& ranks)
      : table_(table), ranks_(ranks) {}

  /// The last two parts of `token`.
  TokenPair last_pair(std::string_view token, bool characters) {
    ends_.clear();
    for (std::size_t at = 0; at < token.size();)
      ends_.push_back(at += symbol_bytes(token, at, characters));
    if (ends_.size() < 2) return {};
    ranks_here_.clear();  // [i] is of the parts i and i + 1
    for (std::size_t at = 0; at + 1 < ends_.size(); ++at)
      ranks_here_.push_back(rank_of(part(token, at, 2)));
    while (ends_.size() > 2) {
      const auto lowest = std::ranges::min_element(ranks_here_);
      if (*lowest == MergeTable::kNoMerge) return {};
      const auto at = static_cast<std::size_t>(lowest - ranks_here_.begin());
      ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(at));
      ranks_here_.erase(lowest);
      if (at > 0) ranks_here_[at - 1] = rank_of(part(token, at - 1, 2));
      if (at < ranks_here_.size()) ranks_here_[at] = rank_of(part(token, at, 2));
    }
    return {table_.find(part(token, 0, 1)), table_.find(part(token, 1, 1))};
  }

 private:
  std::string_view part(std::string_view token, std::size_t at, std::size_t parts) const {
    const std::size_t start = at > 0 ? ends_[at - 1] : 0;
    return token.substr(start, ends_[at + parts - 1] - start);
  }
  std::int32_t rank_of(std::string_view text) const {
    const std::int32_t id = table_.find(text);
    return id < 0 ? MergeTable::kNoMerge : ranks_[static_cast<std::size_t>(id)];
  }

  const PieceTable& table_;
  const std::vector<std::int32_t>& ranks_;
  std::vector<std::size_t> ends_;
  std::vector<std::int32_t> ranks_here_;
};

}  // namespace

std::vector<TokenPair> pairs_of_ranks(const std::vector<std::string>& tokens,
                                      const std::vector<std::int32_t>& ranks, bool characters) {
  PieceTable table(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) table.insert(tokens[id], static_cast<std::int32_t>(id));
  }
  RankMerge merge(table, ranks);
  std::vector<TokenPair> pairs;
  pairs.reserve(tokens.size());
  for (const std::string& token : tokens)
    pairs.push_back(token.empty() ? TokenPair{} : merge.last_pair(token, characters));
  return pairs;
}

}  // namespace athanor
