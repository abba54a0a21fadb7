// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/settings.h"

namespace athanor {

/// What happens when a text has as many tokens as the model sees at once.
enum class WhenFull {
  stop,
  slide,  ///< goes on with the newer half
};
constexpr std::array<std::string_view, 2> names_of(WhenFull) {
  return {"stop", "slide"};
}

/// Added to a token's logit before anything else.
struct LogitBias {
  std::int32_t id;
  float bias;
};

/// How tokens are drawn. Penalties and biases change the logits first; then the temperature, top-k,
/// top-p, min-p and typical-p each restrict what the one before left, as in transformers.
struct SamplingOptions {
  double temperature = 0.8;  ///< 0: always the most probable token
  std::int64_t top_k = 40;   ///< only the k most probable; 0: all
  double top_p = 0.95;  ///< only the most probable that together reach p (Holtzman et al., 2019)
  double min_p = 0;  ///< only those of at least p times the most probable's (Nguyen et al., 2024)
  /// Only those that together reach p, the ones of most typical information first (Meister et al.,
  /// 2022); 1: all.
  double typical_p = 1;
  /// Divides positive logits of tokens that the text has, and multiplies negative ones (Keskar et
  /// al., 2019); 1: none.
  double repetition_penalty = 1;
  double presence_penalty = 0;   ///< taken from logits of tokens that the answer has
  double frequency_penalty = 0;  ///< taken as often as the answer has them
  std::int64_t seed = 1;
  std::int64_t max_tokens = 256;
  WhenFull when_full = WhenFull::stop;
  /// How many other tokens are told with each that is drawn; 0: nothing is told.
  std::int64_t alternatives = 0;
  /// The answer ends before the first of these texts; at most kMostStops, none empty.
  std::vector<std::string> stop{};
  std::vector<std::int32_t> stop_tokens{};  ///< end the answer beside the end of text
  std::vector<LogitBias> logit_bias{};
};
constexpr double kMostBias = 1000;
constexpr std::size_t kMostStops = 32;
constexpr std::size_t kMostStop_bytes = 1000;

template <class Visitor>
void visit_fields(SamplingOptions& options, Visitor& visitor) {
  visitor("temperature", options.temperature, Bounds{0, 10});
  visitor("top_k", options.top_k, Bounds{0, 1e6});
  visitor("top_p", options.top_p, Bounds{0, 1});
  visitor("min_p", options.min_p, Bounds{0, 1});
  visitor("typical_p", options.typical_p, Bounds{0, 1});
  visitor("repetition_penalty", options.repetition_penalty, Bounds{0.1, 10});
  visitor("presence_penalty", options.presence_penalty, Bounds{-10, 10});
  visitor("frequency_penalty", options.frequency_penalty, Bounds{-10, 10});
  visitor("seed", options.seed, Bounds{0, 9e15});
  visitor("max_tokens", options.max_tokens, Bounds{1, 1e6});
  visitor("when_full", options.when_full);
  visitor("alternatives", options.alternatives, Bounds{0, 100});
}

/// Draws one token after another; the index-th draw depends on the seed, the index and the tokens
/// before it alone.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options) {}

  /// The text before the answer, for the repetition penalty.
  void begin_after(std::span<const std::int32_t> prompt);
  /// Ties in probability go to the smaller id. Logits that are not finite throw non_finite.
  std::int32_t sample(std::span<const float> logits, std::int64_t index);

 private:
  struct Candidate {
    float logit;
    std::int32_t id;
    double weight;
  };
  /// A token that the text has.
  struct Seen {
    std::int32_t id;
    std::int64_t in_answer;
  };

  static bool before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
  void note(std::int32_t id, std::int64_t in_answer);
  void take(std::span<const float> logits);
  void apply_bias_and_penalties();
  std::int32_t draw(std::int64_t index);
  void keep_top_k();
  void weigh();
  void keep_top_p();
  void keep_min_p();
  void keep_typical();

  SamplingOptions options_;
  std::vector<Candidate> candidates_;  ///< by id until keep_top_k, then falling
  std::vector<Seen> seen_;
  std::vector<std::int32_t> places_;  ///< by id: in seen_, −1 for none
};

/// How probable the model itself found a token, before any option; the most probable others with
/// it, falling.
struct TokenChoice {
  struct Other {
    std::int32_t id;
    float probability;
  };
  std::int32_t id = 0;
  float probability = 0;
  std::vector<Other> best;  ///< the drawn one is among them when it is one of the best
};
TokenChoice describe_choice(std::span<const float> logits, std::int32_t id, std::int64_t best);

}  // namespace athanor
