// SPDX-License-Identifier: GPL-3.0-or-later

/// How fast the kernels are on a card: those that read and write beside a copy of the card's
/// memory, attention in FLOP/s, matrix products beside cuBLASLt alone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "engine/backend/plan/plan_backend.h"
#include "engine/base/paths.h"
#include "tests/gpu/card.h"
#include "tests/gpu/card_timer.h"
#include "tests/gpu/kernel_cases.h"
#include "tests/gpu/peer_library.h"
#include "tests/gpu/rated_card.h"

namespace {

using namespace athanor;

void call(Backend& backend, const AnyOperation& operation) {
  std::visit(
      [&](const auto& op) {
        if constexpr (std::is_same_v<std::decay_t<decltype(op)>, SumOfSquares>) {
          backend.sum_of_squares(op.x);
        } else {
          backend.run(op);
        }
      },
      operation);
}

OperationCost cost_of(Backend& backend, const AnyOperation& operation) {
  PlanBackend plan(backend.traits());
  call(plan, operation);
  return plan.total();
}

std::string share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.2f}", part / whole) : "-";
}

/// Seconds that the library alone takes for the same products; 0 when it cannot be told.
struct LibraryTimes {
  double y = 0;
  double d_x = 0;
  double d_weight = 0;

  double backward() const { return d_x > 0 && d_weight > 0 ? d_x + d_weight : 0; }
};

class Benchmark {
 public:
  Benchmark(const Device& device, const KernelSizes& sizes)
      : device_(device),
        card_index_(card_index(device)),
        sizes_(sizes),
        backend_(make_backend({.device = device.id})),
        arena_(backend_->allocate(sizes.arena_bytes)),
        make_(*backend_, arena_) {
    backend_->use_workspace(
        arena_.take(MemoryRole::workspace, DType::u8, {backend_->traits().workspace_bytes}));
    const LoadedPeer loaded = load_card_peer();
    peer_ = loaded.peer;
    if (peer_ == nullptr) fmt::print("nothing to compare with: {}\n", loaded.problem);
  }

  void run() {
    measure_card();
    measure_memory_bound();
    measure_attention();
    measure_products();
  }
  const Json& results() const { return results_; }

 private:
  void measure_card();
  void measure_memory_bound();
  void measure_attention();
  void measure_products();
  void measure_product(const ProductCase& row);
  void measure_head();
  LibraryTimes library_times(const ProductCase& row);
  void report_product(const ProductCase& row, const char* direction, const AnyOperation& operation,
                      double library_seconds);
  double seconds_of(const AnyOperation& operation);
  /// 0 when it cannot be told.
  double peer_seconds(const PeerProduct& product);

  const Device& device_;
  int card_index_;
  KernelSizes sizes_;
  std::unique_ptr<Backend> backend_;
  Arena arena_;
  CardTensors make_;
  const CardPeer* peer_ = nullptr;
  double copy_rate_ = 0;  ///< bytes read and written per second
  double peak_flops_ = 0;
  Json results_ = Json::object();
};

double Benchmark::seconds_of(const AnyOperation& operation) {
  // Products find out first how they run fastest.
  backend_->tune(true);
  call(*backend_, operation);
  backend_->tune(false);
  return seconds_on_card(*backend_, [&] { call(*backend_, operation); });
}

double Benchmark::peer_seconds(const PeerProduct& product) {
  if (peer_ == nullptr) return 0;
  const PeerTime time = peer_->product(card_index_, product);
  if (!time.problem.empty()) fmt::print("cuBLASLt alone: {}\n", time.problem);
  return time.seconds;
}

void Benchmark::measure_card() {
  if (peer_ != nullptr) {
    const PeerTime copy = peer_->copy(card_index_, sizes_.copy_bytes);
    if (!copy.problem.empty()) fmt::print("copy within the card: {}\n", copy.problem);
    if (copy.seconds > 0) copy_rate_ = 2.0 * static_cast<double>(sizes_.copy_bytes) / copy.seconds;
  }
  const std::int64_t side = sizes_.peak_side;
  const double seconds =
      peer_seconds({.rows = side, .columns = side, .depth = side, .a_transposed = true});
  if (seconds > 0) peak_flops_ = 2.0 * static_cast<double>(side * side * side) / seconds;
  const std::optional<GraphicsCard> rated =
      rated_card(known_cards(default_home()), device_.name, device_.memory_bytes);
  fmt::print(
      "{}, {}\ncopy within its memory {:.0f} GB/s, BF16 product of {} cubed {:.1f} TFLOP/s\n",
      device_.name, device_.detail, copy_rate_ * 1e-9, side, peak_flops_ * 1e-12);
  results_["device"] = device_.name;
  results_["detail"] = device_.detail;
  results_["copy_bytes_per_second"] = copy_rate_;
  results_["peak_flops_per_second"] = peak_flops_;
  if (!rated) return;
  results_["rated"] = {{"card", rated->name},
                       {"bytes_per_second", rated->bytes_per_second},
                       {"flops_per_second", rated->bf16_flops_per_second}};
  fmt::print("rated as {}: {:.0f} GB/s, {:.1f} TFLOP/s\n", rated->name,
             rated->bytes_per_second * 1e-9, rated->bf16_flops_per_second * 1e-12);
}

void Benchmark::measure_memory_bound() {
  fmt::print("\n{:<34}{:>10}{:>10}{:>12}\n", "kernel", "ms", "GB/s", "of the copy");
  Json rows = Json::array();
  for (const KernelCase& row : memory_bound_cases(sizes_)) {
    if (!backend_->supports(row.operation, 0)) continue;
    const ArenaScope scope(arena_);
    const AnyOperation operation = row.build(make_);
    const double seconds = seconds_of(operation);
    const double rate = cost_of(*backend_, operation).bytes / seconds;
    fmt::print("{:<34}{:>10.3f}{:>10.0f}{:>12}\n", row.name, seconds * 1e3, rate * 1e-9,
               share(rate, copy_rate_));
    rows.push_back({{"name", row.name}, {"seconds", seconds}, {"bytes_per_second", rate}});
  }
  results_["kernels"] = rows;
}

void Benchmark::measure_attention() {
  fmt::print("\n{:<34}{:>14}{:>14}{:>14}\n", "attention, causal", "forward TF/s", "backward TF/s",
             "fwd of peak");
  Json rows = Json::array();
  for (const AttentionCase& row : attention_cases(sizes_)) {
    const AttentionShape& shape = row.shape;
    if (!backend_->supports(Operation::attention_backward, shape.head_dim)) continue;
    const ArenaScope scope(arena_);
    const Attention forward = build_attention(make_, row);
    const double forward_seconds = seconds_of(forward);
    const AttentionBackward backward = build_attention_backward(make_, forward);
    const double backward_seconds = seconds_of(backward);
    const double forward_rate = cost_of(*backend_, forward).flops / forward_seconds;
    const double backward_rate = cost_of(*backend_, backward).flops / backward_seconds;
    fmt::print("{:<34}{:>14.1f}{:>14.1f}{:>14}\n",
               fmt::format("{} tokens, {}/{} heads of {}", shape.sequence, shape.heads,
                           shape.kv_heads, shape.head_dim),
               forward_rate * 1e-12, backward_rate * 1e-12, share(forward_rate, peak_flops_));
    rows.push_back({{"sequence", shape.sequence},
                    {"heads", shape.heads},
                    {"kv_heads", shape.kv_heads},
                    {"head_dim", shape.head_dim},
                    {"tokens", row.tokens},
                    {"forward_seconds", forward_seconds},
                    {"backward_seconds", backward_seconds},
                    {"forward_flops_per_second", forward_rate},
                    {"backward_flops_per_second", backward_rate}});
  }
  results_["attention"] = rows;
}

void Benchmark::measure_products() {
  results_["products"] = Json::array();
  fmt::print("\n{:<56}{:>10}{:>10}{:>14}\n", "matrix product", "ms", "TFLOP/s", "cuBLASLt time");
  for (const ProductCase& row : product_cases(sizes_)) {
    const ArenaScope scope(arena_);
    measure_product(row);
  }
  const ArenaScope scope(arena_);
  measure_head();
  fmt::print("cuBLASLt time: its fastest way's time in BF16 as a share of ours\n");
}

LibraryTimes Benchmark::library_times(const ProductCase& row) {
  return {.y = peer_seconds(
              {.rows = row.out, .columns = row.rows, .depth = row.in, .a_transposed = true}),
          .d_x = peer_seconds({.rows = row.in, .columns = row.rows, .depth = row.out}),
          .d_weight = peer_seconds({.rows = row.in,
                                    .columns = row.out,
                                    .depth = row.rows,
                                    .b_transposed = true,
                                    .accumulate = true,
                                    .f32_result = true})};
}

void Benchmark::report_product(const ProductCase& row, const char* direction,
                               const AnyOperation& operation, double library_seconds) {
  const double seconds = seconds_of(operation);
  const double rate = cost_of(*backend_, operation).flops / seconds;
  fmt::print("{:<56}{:>10.3f}{:>10.1f}{:>14}\n",
             fmt::format("{} {}x{}x{}, {}", row.name, row.rows, row.in, row.out, direction),
             seconds * 1e3, rate * 1e-12, share(library_seconds, seconds));
  results_["products"].push_back({{"name", row.name},
                                  {"direction", direction},
                                  {"rows", row.rows},
                                  {"in", row.in},
                                  {"out", row.out},
                                  {"seconds", seconds},
                                  {"flops_per_second", rate},
                                  {"library_seconds", library_seconds}});
}

void Benchmark::measure_product(const ProductCase& row) {
  const Linear forward{.x = make_.rows({row.rows, row.in}),
                       .weight = make_.rows({row.out, row.in}),
                       .bias = {},
                       .y = make_.space(DType::bf16, {row.rows, row.out})};
  const LinearBackward backward{.d_y = make_.rows({row.rows, row.out}),
                                .x = forward.x,
                                .weight = forward.weight,
                                .d_x = make_.space(DType::bf16, {row.rows, row.in}),
                                .d_weight = make_.space(DType::f32, {row.out, row.in}),
                                .d_bias = {}};
  const LibraryTimes library = library_times(row);
  report_product(row, "forward", forward, library.y);
  report_product(row, "backward", backward, library.backward());
  if (!backend_->traits().fp8) return;
  report_product(row, "forward in FP8", build_linear_fp8(make_, forward), library.y);
  report_product(row, "backward in FP8", build_linear_backward_fp8(make_, backward),
                 library.backward());
}

/// The library's time is that of the products in it alone.
void Benchmark::measure_head() {
  const ProductCase chunk = head_chunk(sizes_);
  constexpr std::int64_t kChunks = 4;
  const std::int64_t rows = kChunks * chunk.rows;
  const HeadLoss loss{.x = make_.rows({rows, chunk.in}),
                      .weight = make_.rows({chunk.out, chunk.in}),
                      .targets = make_.ids(rows, chunk.out),
                      .losses = make_.space(DType::f32, {rows}),
                      .gradient_scale = 1.0 / static_cast<double>(rows),
                      .d_x = make_.space(DType::bf16, {rows, chunk.in}),
                      .d_weight = make_.space(DType::f32, {chunk.out, chunk.in}),
                      .logits = make_.space(DType::bf16, {chunk.rows, chunk.out})};
  const LibraryTimes library = library_times(chunk);
  const double products = library.backward() > 0 ? library.y + library.backward() : 0;
  ProductCase row = chunk;
  row.name = "head and loss";
  row.rows = rows;
  report_product(row, "all", loss, kChunks * products);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times the kernels on a card");
  CardOptions options;
  bool tiny = false;
  app.add_option("--device", options.device, "cuda:0 and so on");
  app.add_option("--json", options.json);
  app.add_flag("--tiny", tiny, "In sizes for an emulated card: times of no meaning");
  CLI11_PARSE(app, argc, argv);
  return run_on_card(options, [&](const Device& device) {
    Benchmark benchmark(device, tiny ? KernelSizes::tiny() : KernelSizes());
    benchmark.run();
    write_results(options.json, benchmark.results());
    return 0;
  });
}
