// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/backend/cuda/card_traits.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/utf8.h"
#include "engine/train/train_plan.h"

namespace athanor {
namespace {

constexpr std::size_t kColumns = 7;
constexpr std::int64_t kMost_bytes = std::int64_t{1} << 20;
constexpr std::size_t kMost_name = 100;

/// Shares of the rated figures that fused kernels reach; they reproduce published runs of a 1B
/// model on an RTX 5080 at 12,000 tokens/s (docs/measurements.md).
constexpr double kProduct_share = 0.88;
constexpr double kAttention_share = 0.6;
constexpr double kBandwidth_share = 0.85;
constexpr double kHost_share = 0.8;
/// Narrow products leave most of a card idle: shares of the above at a model's width.
struct WidthShare {
  double width;
  double share;
};
constexpr std::array<WidthShare, 4> kWidth_shares = {
    {{64, 0.05}, {256, 0.3}, {1024, 0.8}, {1792, 1}}};
/// From one kernel to the next within a graph.
constexpr double kCall_seconds = 2e-6;
/// FP8 products over BF16 ones, both with FP32 accumulation, of every card that has both.
constexpr double kFp8_ratio = 2;
/// A lane of PCIe 1.0 after encoding; each generation doubles it, give or take its encoding.
constexpr std::array<double, 7> kLane_bytes_per_second = {0,       0.25e9,  0.5e9,  0.985e9,
                                                          1.969e9, 3.938e9, 7.563e9};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Reads one line after the other and knows which it is at.
class CardParser {
 public:
  CardParser(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  std::vector<GraphicsCard> parse() {
    bool header = false;
    for (const std::string_view line : split(text_, '\n')) {
      ++line_;
      if (line.empty() || line.starts_with('#')) continue;
      if (!header) {
        if (line != kCardColumns) refuse(fmt::format("the first line must be {}", kCardColumns));
        header = true;
        continue;
      }
      add(read(split(line, ',')));
    }
    if (!header) refuse(fmt::format("the first line must be {}", kCardColumns));
    return std::move(cards_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::damaged, fmt::format("{}, line {}: {}. Correct the file, or remove it.",
                                                place_, line_, what));
  }

  double number(std::string_view text, const char* what, double least, double most) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
        !(value <= most)) {
      refuse(fmt::format("{} must be a number from {:g} to {:g}, not \"{}\"", what, least, most,
                         text.substr(0, kMost_name)));
    }
    return value;
  }

  GraphicsCard read(const std::vector<std::string_view>& fields) const {
    if (fields.size() != kColumns) {
      refuse(fmt::format("there must be {} columns, not {}", kColumns, fields.size()));
    }
    if (fields[0].empty() || fields[0].size() > kMost_name) {
      refuse(fmt::format("a name has 1 to {} letters", kMost_name));
    }
    if (!is_utf8(fields[0])) refuse("the name is not UTF-8 text");
    GraphicsCard card{.name = std::string(fields[0])};
    card.compute_capability = number(fields[1], "compute_capability", 1, 99);
    card.memory_bytes =
        static_cast<std::int64_t>(number(fields[2], "memory_gib", 1, 10'000) * (1 << 30));
    card.bytes_per_second = 1e9 * number(fields[3], "bandwidth_gb_s", 1, 1e6);
    if (!fields[4].empty()) {
      card.bf16_flops_per_second = 1e12 * number(fields[4], "bf16_tflop_s", 0.1, 1e6);
    }
    const double generation = number(fields[5], "pcie_generation", 1, 6);
    const double lanes = number(fields[6], "pcie_lanes", 1, 32);
    if (generation != std::floor(generation)) refuse("pcie_generation must be a whole number");
    card.host_bytes_per_second =
        lanes * kLane_bytes_per_second[static_cast<std::size_t>(generation)];
    return card;
  }

  void add(GraphicsCard card) {
    for (const GraphicsCard& other : cards_) {
      if (lower(other.name) == lower(card.name)) refuse(card.name + " is there twice");
    }
    cards_.push_back(std::move(card));
  }

  std::string_view text_;
  std::string place_;
  int line_ = 0;
  std::vector<GraphicsCard> cards_;
};

std::optional<std::string> own_cards(const std::filesystem::path& file) {
  std::error_code missing;
  if (!std::filesystem::exists(file, missing)) return std::nullopt;
  return read_small_file(file, kMost_bytes);
}

/// Names that have a word of `name` in them, such as "3070".
std::string like(const std::vector<GraphicsCard>& cards, const std::string& name) {
  std::string found;
  for (const GraphicsCard& card : cards) {
    for (const std::string_view word : split(name, ' ')) {
      const bool has_digit = std::any_of(word.begin(), word.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
      if (!has_digit || lower(card.name).find(lower(word)) == std::string::npos) continue;
      found += (found.empty() ? "" : ", ") + card.name;
      break;
    }
  }
  return found;
}

double share_of(Operation operation) {
  switch (operation) {
    case Operation::attention:
    case Operation::attention_backward:
      return kAttention_share;
    default:
      if (is_host_copy(operation)) return kHost_share;
      return is_compute_bound(operation) ? kProduct_share : kBandwidth_share;
  }
}

/// 0 where the card does not run it.
double rated(const GraphicsCard& card, Operation operation) {
  if (is_of_fp8(operation)) {
    if (card.compute_capability < cuda::kFirst_fp8) return 0;
    if (is_compute_bound(operation)) return kFp8_ratio * card.bf16_flops_per_second;
  }
  if (is_compute_bound(operation)) return card.bf16_flops_per_second;
  return is_host_copy(operation) ? card.host_bytes_per_second : card.bytes_per_second;
}

bool is_sized_by_width(Operation operation) {
  return is_compute_bound(operation) && share_of(operation) == kProduct_share;
}

}  // namespace

std::int64_t usable_bytes(const GraphicsCard& card) {
  if (card.compute_capability < cuda::kFirst_bf16 || card.bf16_flops_per_second == 0) {
    throw Error(ErrorKind::unsupported,
                fmt::format("The {} cannot train: it has no BF16 (compute capability {:.1f}; "
                            "{:.1f} is the first with it). Choose a newer card, or the processor.",
                            card.name, card.compute_capability, cuda::kFirst_bf16));
  }
  return std::max<std::int64_t>(0, card.memory_bytes - kCardContext_bytes);
}

std::vector<GraphicsCard> parse_cards(std::string_view text, const std::string& place) {
  return CardParser(text, place).parse();
}

std::vector<GraphicsCard> known_cards(const std::filesystem::path& home) {
  std::vector<GraphicsCard> cards = parse_cards(built_in_cards(), "resources/cards.csv");
  const std::filesystem::path file = home / "cards.csv";
  const std::optional<std::string> own = own_cards(file);
  if (!own) return cards;
  for (GraphicsCard& card : parse_cards(*own, file.string())) {
    const auto same = std::find_if(cards.begin(), cards.end(), [&](const GraphicsCard& known) {
      return lower(known.name) == lower(card.name);
    });
    if (same != cards.end()) {
      *same = std::move(card);
    } else {
      cards.push_back(std::move(card));
    }
  }
  return cards;
}

const GraphicsCard& find_card(const std::vector<GraphicsCard>& cards, const std::string& name) {
  const auto found = std::find_if(cards.begin(), cards.end(), [&](const GraphicsCard& card) {
    return lower(card.name) == lower(trimmed(name));
  });
  if (found != cards.end()) return *found;
  const std::string close = like(cards, name);
  throw Error(ErrorKind::not_found,
              fmt::format("There is no card \"{}\" in the table.{} `athanorctl cards` shows all, "
                          "and how to add one.",
                          name, close.empty() ? "" : " Did you mean " + close + "?"));
}

DeviceSpeed speed_of(const GraphicsCard& card) {
  std::vector<DeviceSpeed::Sample> samples;
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    const double per_second = share_of(operation) * rated(card, operation);
    if (per_second == 0) continue;
    if (is_sized_by_width(operation)) {
      for (const auto& [width, share] : kWidth_shares)
        samples.push_back({operation, width, share * per_second});
    } else {
      // One sample: the rate is the same at every size.
      samples.push_back({operation, 1, per_second});
    }
  }
  return {{card.name, "estimate for a card that need not be in this machine", 1},
          std::move(samples),
          {.call_seconds = kCall_seconds, .copies_beside = true}};
}

TrainConfig on_card(const TrainConfig& train) {
  return suited_to(cuda::card_traits(), train);
}

TrainConfig from_card(TrainConfig proposed, const TrainConfig& asked) {
  proposed.activations = asked.activations;
  // An FP32 copy that is offloaded has to be one.
  if (!proposed.offload_master) proposed.weights = asked.weights;
  return proposed;
}

}  // namespace athanor
