// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/sampler.h"

#include <algorithm>
#include <cmath>

#include "engine/base/philox.h"

namespace athanor {

std::int32_t Sampler::sample(std::span<const float> logits, std::int64_t index) {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  candidates_.clear();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (!std::isfinite(logits[id])) {
      throw Error(ErrorKind::non_finite,
                  "This model's output is not a number: its training went wrong. Choose an earlier "
                  "checkpoint.");
    }
    candidates_.push_back({logits[id], static_cast<std::int32_t>(id), 0});
  }
  if (options_.temperature <= 0) {
    return std::min_element(candidates_.begin(), candidates_.end(), before)->id;
  }
  const auto top = options_.top_k > 0
                       ? std::min(candidates_.size(), static_cast<std::size_t>(options_.top_k))
                       : candidates_.size();
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(top),
                    candidates_.end(), before);
  candidates_.resize(top);

  double total = 0;
  for (Candidate& candidate : candidates_) {
    candidate.weight = std::exp((static_cast<double>(candidate.logit) - candidates_.front().logit) /
                                options_.temperature);
    total += candidate.weight;
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < candidates_.size() && (count == 0 || kept < options_.top_p * total)) {
    kept += candidates_[count++].weight;
  }
  const Philox random(static_cast<std::uint64_t>(options_.seed), 0);
  double rest = static_cast<double>(random.uniform(static_cast<std::uint64_t>(index))) * kept;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    rest -= candidates_[i].weight;
    if (rest < 0) return candidates_[i].id;
  }
  return candidates_[count - 1].id;
}

}  // namespace athanor
