// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/sampler.h"

#include <algorithm>
#include <cmath>

#include "engine/base/philox.h"

namespace athanor {

void Sampler::note(std::int32_t id, std::int64_t in_answer) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= places_.size()) places_.resize(index + 1, -1);
  if (places_[index] < 0) {
    places_[index] = static_cast<std::int32_t>(seen_.size());
    seen_.push_back({id, 0});
  }
  seen_[static_cast<std::size_t>(places_[index])].in_answer += in_answer;
}

void Sampler::begin_after(std::span<const std::int32_t> prompt) {
  for (const std::int32_t id : prompt)
    note(id, 0);
}

void Sampler::take(std::span<const float> logits) {
  candidates_.clear();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (!std::isfinite(logits[id])) {
      throw Error(ErrorKind::non_finite,
                  "This model's output is not a number: its training went wrong. Choose an earlier "
                  "checkpoint.");
    }
    candidates_.push_back({logits[id], static_cast<std::int32_t>(id), 0});
  }
}

void Sampler::apply_bias_and_penalties() {
  const auto logit_of = [&](std::int32_t id) -> float& {
    return candidates_[static_cast<std::size_t>(id)].logit;
  };
  const auto size = static_cast<std::int32_t>(candidates_.size());
  for (const LogitBias& bias : options_.logit_bias) {
    if (bias.id >= 0 && bias.id < size) logit_of(bias.id) += bias.bias;
  }
  for (const Seen& seen : seen_) {
    if (seen.id >= size) continue;
    float& logit = logit_of(seen.id);
    const auto penalty = static_cast<float>(options_.repetition_penalty);
    logit = logit > 0 ? logit / penalty : logit * penalty;
    if (seen.in_answer == 0) continue;
    logit -= static_cast<float>(options_.presence_penalty +
                                options_.frequency_penalty * static_cast<double>(seen.in_answer));
  }
}

std::int32_t Sampler::sample(std::span<const float> logits, std::int64_t index) {
  take(logits);
  apply_bias_and_penalties();
  const std::int32_t drawn =
      options_.temperature <= 0
          ? std::min_element(candidates_.begin(), candidates_.end(), before)->id
          : draw(index);
  note(drawn, 1);
  return drawn;
}

std::int32_t Sampler::draw(std::int64_t index) {
  keep_top_k();
  weigh();
  keep_top_p();
  keep_min_p();
  keep_typical();
  double kept = 0;
  for (const Candidate& candidate : candidates_)
    kept += candidate.weight;
  const Philox random(static_cast<std::uint64_t>(options_.seed), 0);
  double rest = static_cast<double>(random.uniform(static_cast<std::uint64_t>(index))) * kept;
  for (const Candidate& candidate : candidates_) {
    rest -= candidate.weight;
    if (rest < 0) return candidate.id;
  }
  return candidates_.back().id;
}

void Sampler::keep_top_k() {
  const auto top = options_.top_k > 0
                       ? std::min(candidates_.size(), static_cast<std::size_t>(options_.top_k))
                       : candidates_.size();
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(top),
                    candidates_.end(), before);
  candidates_.resize(top);
}

void Sampler::weigh() {
  for (Candidate& candidate : candidates_) {
    candidate.weight = std::exp((static_cast<double>(candidate.logit) - candidates_.front().logit) /
                                options_.temperature);
  }
}

void Sampler::keep_top_p() {
  double total = 0;
  for (const Candidate& candidate : candidates_)
    total += candidate.weight;
  double kept = 0;
  std::size_t count = 0;
  while (count < candidates_.size() && (count == 0 || kept < options_.top_p * total)) {
    kept += candidates_[count++].weight;
  }
  candidates_.resize(count);
}

void Sampler::keep_min_p() {
  // The first one's weight is 1.
  while (candidates_.size() > 1 && candidates_.back().weight < options_.min_p)
    candidates_.pop_back();
}

void Sampler::keep_typical() {
  if (options_.typical_p >= 1) return;
  double total = 0;
  for (const Candidate& candidate : candidates_)
    total += candidate.weight;
  const auto information = [total](const Candidate& candidate) {
    return std::log(total) - std::log(candidate.weight);
  };
  // Weights of 0 are never drawn.
  std::erase_if(candidates_, [](const Candidate& candidate) { return candidate.weight <= 0; });
  double entropy = 0;
  for (const Candidate& candidate : candidates_)
    entropy += candidate.weight / total * information(candidate);
  const auto strangeness = [&](const Candidate& candidate) {
    return std::abs(information(candidate) - entropy);
  };
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [&](const Candidate& a, const Candidate& b) { return strangeness(a) < strangeness(b); });
  double kept = 0;
  std::size_t count = 0;
  while (count < candidates_.size() && (count == 0 || kept < options_.typical_p * total))
    kept += candidates_[count++].weight;
  candidates_.resize(count);
  std::sort(candidates_.begin(), candidates_.end(), before);
}

TokenChoice describe_choice(std::span<const float> logits, std::int32_t id, std::int64_t best) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits)
    total += std::exp(static_cast<double>(logit) - most);
  const auto probability = [&](std::int32_t of) {
    return static_cast<float>(
        std::exp(static_cast<double>(logits[static_cast<std::size_t>(of)]) - most) / total);
  };
  TokenChoice choice{.id = id, .probability = probability(id), .best = {}};
  // Few are wanted of many: each is put where it belongs among the best so far.
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float logit_a = logits[static_cast<std::size_t>(a)];
    const float logit_b = logits[static_cast<std::size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  };
  std::vector<std::int32_t> ids;
  for (std::int32_t other = 0; other < std::ssize(logits); ++other) {
    if (std::ssize(ids) == best) {
      if (best == 0 || !better(other, ids.back())) continue;
      ids.pop_back();
    }
    ids.insert(std::upper_bound(ids.begin(), ids.end(), other, better), other);
  }
  for (const std::int32_t other : ids)
    choice.best.push_back({other, probability(other)});
  return choice;
}

}  // namespace athanor
