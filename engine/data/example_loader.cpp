// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/example_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/base/error.h"
#include "engine/data/batch_rows.h"
#include "engine/data/window_order.h"

namespace athanor {

PackedRows::PackedRows(const ExampleShard& examples, std::int64_t context)
    : examples_(examples),
      tokens_(static_cast<std::size_t>(context + 1)),
      row_marks_(static_cast<std::size_t>(context + 1)) {
  std::vector<std::int64_t> by_length(static_cast<std::size_t>(examples.examples()));
  std::iota(by_length.begin(), by_length.end(), 0);
  std::ranges::stable_sort(by_length, std::ranges::greater(),
                           [&](std::int64_t example) { return examples.length(example); });
  std::vector<std::vector<std::int64_t>> rows;
  std::set<std::pair<std::int64_t, std::size_t>> room;  ///< left in which row
  for (const std::int64_t example : by_length) {
    const std::int64_t places = std::max<std::int64_t>(examples.length(example) - 1, 1);
    if (places > context) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("An example has {} tokens, but a context of {} has room for {}. "
                              "Choose a longer context, or prepare the examples again.",
                              examples.length(example), context, context + 1));
    }
    auto tightest = room.lower_bound({places, 0});
    if (tightest == room.end()) {
      tightest = room.emplace(context, rows.size()).first;
      rows.emplace_back();
    }
    const auto [left, row] = *tightest;
    room.erase(tightest);
    rows[row].push_back(example);
    if (left > places) room.emplace(left - places, row);
  }
  for (const std::vector<std::int64_t>& row : rows) {
    firsts_.push_back(static_cast<std::int64_t>(order_.size()));
    order_.insert(order_.end(), row.begin(), row.end());
  }
  firsts_.push_back(static_cast<std::int64_t>(order_.size()));
}

std::int64_t PackedRows::fill(std::int64_t row, std::int32_t padding, HostBatch& batch,
                              std::int64_t to) {
  const auto first = static_cast<std::size_t>(to * batch.context);
  const auto context = static_cast<std::size_t>(batch.context);
  std::size_t at = 0;
  std::int64_t targets = 0;
  const auto put = [&](std::int32_t token, std::int32_t target, std::size_t start) {
    batch.tokens[first + at] = token;
    batch.targets[first + at] = target;
    batch.document_starts[first + at] = static_cast<std::int32_t>(start);
    targets += target >= 0 ? 1 : 0;
    ++at;
  };
  const auto entry = static_cast<std::size_t>(row);
  for (auto i = static_cast<std::size_t>(firsts_[entry]);
       i < static_cast<std::size_t>(firsts_[entry + 1]); ++i) {
    const auto length = static_cast<std::size_t>(examples_.length(order_[i]));
    examples_.tokens().read(examples_.start(order_[i]), std::span(tokens_).first(length));
    examples_.read_marks(examples_.start(order_[i]), std::span(row_marks_).first(length));
    const std::size_t start = at;
    for (std::size_t k = 0; k + 1 < length; ++k) {
      const bool trained = row_marks_[k + 1] == ExampleShard::kTrained;
      put(tokens_[k], trained ? tokens_[k + 1] : -1, start);
    }
  }
  while (at < context)
    put(padding, -1, at);
  return targets;
}

ExampleLoader::ExampleLoader(const ExampleShard& examples, std::int32_t padding,
                             std::int64_t context, std::uint64_t seed)
    : rows_(examples, context), padding_(padding), context_(context), seed_(seed) {}

void ExampleLoader::next(HostBatch& batch) {
  check_batch(batch, context_);
  batch.trained_tokens = 0;
  for (std::int64_t to = 0; to < batch.rows; ++to) {
    if (state_.window >= rows_.rows()) state_ = {state_.epoch + 1, 0};
    const WindowOrder order(rows_.rows(), seed_, state_.epoch);
    batch.trained_tokens += rows_.fill(order.at(state_.window++), padding_, batch, to);
  }
}

ExampleEvaluationLoader::ExampleEvaluationLoader(const ExampleShard& examples, std::int32_t padding,
                                                 std::int64_t context)
    : rows_(examples, context), padding_(padding), context_(context) {}

void ExampleEvaluationLoader::restart() {
  row_ = 0;
  given_tokens_ = 0;
}

bool ExampleEvaluationLoader::next(HostBatch& batch) {
  check_batch(batch, context_);
  const auto more = [&] {
    return row_ < rows_.rows() && (token_limit_ == 0 || given_tokens_ < token_limit_);
  };
  if (!more()) return false;
  batch.trained_tokens = 0;
  for (std::int64_t to = 0; to < batch.rows; ++to) {
    if (more()) {
      const std::int64_t targets = rows_.fill(row_++, padding_, batch, to);
      batch.trained_tokens += targets;
      given_tokens_ += targets;
    } else {
      fill_row({}, 0, padding_, batch, to);
    }
  }
  return true;
}

}  // namespace athanor
