// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/settings.h"

namespace athanor {

struct SamplingOptions {
  double temperature = 0.8;  ///< 0: always the most probable token
  std::int64_t top_k = 40;   ///< only the k most probable; 0: all
  double top_p = 0.95;  ///< only the most probable that together reach p (Holtzman et al., 2019)
  std::int64_t seed = 1;
  std::int64_t max_tokens = 256;
};

template <class Visitor>
void visit_fields(SamplingOptions& options, Visitor& visitor) {
  visitor("temperature", options.temperature, Bounds{0, 10});
  visitor("top_k", options.top_k, Bounds{0, 1e6});
  visitor("top_p", options.top_p, Bounds{0, 1});
  visitor("seed", options.seed, Bounds{0, 9e15});
  visitor("max_tokens", options.max_tokens, Bounds{1, 1e6});
}

/// Draws one token after another; the index-th draw depends on the seed and the index alone.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options) {}

  /// Ties in probability go to the smaller id. Logits that are not finite throw non_finite.
  std::int32_t sample(std::span<const float> logits, std::int64_t index);

 private:
  struct Candidate {
    float logit;
    std::int32_t id;
    double weight;
  };

  SamplingOptions options_;
  std::vector<Candidate> candidates_;
};

}  // namespace athanor
