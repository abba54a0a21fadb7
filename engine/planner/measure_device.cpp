// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/planner/device_speed.h"
#include "engine/tensor/arena.h"

namespace athanor {
namespace {

/// What is measured with: large enough to be like a run, small enough for a second or two.
struct Sizes {
  std::int64_t arena_bytes;
  std::int64_t rows;
  std::int64_t sequence;
  std::int64_t vocabulary;
  std::int64_t head_chunk;
  std::vector<std::int64_t> widths;
};

/// A card needs far more work at once to be busy.
Sizes sizes_for(const BackendTraits& traits) {
  if (traits.bf16_only) {
    return {.arena_bytes = std::int64_t{1} << 30,
            .rows = 4096,
            .sequence = 1024,
            .vocabulary = 16384,
            .head_chunk = 2048,
            .widths = {128, 256, 512, 1024, 2048, 4096}};
  }
  return {.arena_bytes = std::int64_t{160} << 20,
          .rows = 512,
          .sequence = 256,
          .vocabulary = 4096,
          .head_chunk = 256,
          .widths = {64, 128, 256, 512}};
}
/// The fastest of a few, each long enough for the clock.
constexpr int kTimes = 3;
constexpr double kLeast_seconds = 2e-3;
/// What takes that long is hardly slower the first time: a slow machine is measured once.
constexpr double kLong_seconds = 0.1;

/// Runs operations on scratch tensors and notes how long each takes.
class Gauge {
 public:
  Gauge(Backend& backend, const CancelToken& cancel)
      : backend_(backend),
        cancel_(cancel),
        sizes_(sizes_for(backend.traits())),
        arena_(backend.allocate(sizes_.arena_bytes)) {
    const std::int64_t bytes = backend.traits().workspace_bytes;
    if (bytes > 0) backend.use_workspace(scratch(DType::u8, {bytes}));
  }

  void calls();
  /// How much slower bytes of BF16 rows are worked on, as the mean of two operations.
  double bf16_share();
  void products(std::int64_t width);
  void muon(std::int64_t width);
  /// Those of y = x · weightᵀ.
  void fp8_products(std::int64_t width, const Tensor& x, const Tensor& weight, const Tensor& y);
  void attention(std::int64_t head_dim);
  void memory_bound(std::int64_t rows, std::int64_t width);
  void host_copies(const std::filesystem::path& folder);
  const Sizes& sizes() const { return sizes_; }
  std::vector<DeviceSpeed::Sample> take_samples() { return std::move(samples_); }
  double call_seconds() const { return call_seconds_; }

 private:
  Tensor scratch(DType dtype, Shape shape) {
    const Tensor tensor = arena_.take(MemoryRole::workspace, dtype, shape);
    backend_.zero(tensor);
    return tensor;
  }
  Tensor real(Shape shape) { return scratch(backend_.compute_type(), shape); }
  /// Rows of values and weights, as runs on this backend store them unless told otherwise.
  Tensor values(Shape shape) {
    return scratch(backend_.traits().bf16_only ? DType::bf16 : backend_.compute_type(), shape);
  }
  Tensor integers(Shape shape) { return scratch(DType::i32, shape); }
  template <class Op>
  double seconds_of(const Op& op);
  template <class Op>
  void measure(Operation operation, double size, const Op& op);

  Backend& backend_;
  const CancelToken& cancel_;
  Sizes sizes_;
  Arena arena_;
  double call_seconds_ = 0;
  std::vector<DeviceSpeed::Sample> samples_;
};

template <class Op>
double Gauge::seconds_of(const Op& op) {
  constexpr double kMost_calls = 1000;
  const auto seconds_of_calls = [&](int calls) {
    cancel_.throw_if_requested();
    const Stopwatch watch;
    for (int i = 0; i < calls; ++i)
      backend_.run(op);
    backend_.wait();
    return watch.seconds();
  };
  const double first = seconds_of_calls(1);
  if (first > kLong_seconds) return first;
  // A card takes calls faster than it works them off, so how many are enough is found first.
  const double once = seconds_of_calls(1);
  const int calls =
      static_cast<int>(std::clamp(std::ceil(kLeast_seconds / once), 1.0, kMost_calls));
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTimes; ++i)
    best = std::min(best, seconds_of_calls(calls) / calls);
  return best;
}

/// `size` 0: the bytes of one call.
template <class Op>
void Gauge::measure(Operation operation, double size, const Op& op) {
  PlanBackend plan(backend_.traits());
  plan.run(op);
  const OperationCost cost = plan.cost(operation);
  const double seconds = seconds_of(op);
  // The work's own share; at least half, for what is so short that it is mostly call.
  const double working = std::max(seconds - call_seconds_, seconds / 2);
  samples_.push_back({operation, size > 0 ? size : cost.bytes, work_of(operation, cost) / working});
}

/// Next to nothing to do, for two threads: what is left is the call.
void Gauge::calls() {
  const ArenaScope scope(arena_);
  constexpr std::int64_t kFew = 64;
  constexpr std::int64_t kNarrow = 8;
  call_seconds_ = seconds_of(NormAgain{.x = values({kFew, kNarrow}),
                                       .rstd = real({kFew}),
                                       .weight = values({kNarrow}),
                                       .out = values({kFew, kNarrow})});
}

double Gauge::bf16_share() {
  constexpr std::int64_t kWidth = 256;
  const ArenaScope scope(arena_);
  const Shape shape{sizes_.rows, kWidth};
  if (backend_.traits().bf16_only) return 1;
  const auto seconds = [&](DType type) {
    const ArenaScope inner(arena_);
    const Tensor a = scratch(type, shape);
    const Tensor b = scratch(type, shape);
    const double norm = seconds_of(
        NormAgain{.x = a, .rstd = real({sizes_.rows}), .weight = values({kWidth}), .out = b});
    const double activation =
        seconds_of(MlpActivation{.activation = Activation::silu, .pre = a, .out = b});
    return norm + activation - 2 * call_seconds_;
  };
  // Half the bytes in that time.
  return std::clamp(seconds(backend_.compute_type()) / seconds(DType::bf16) / 2, 0.01, 10.0);
}

void Gauge::products(std::int64_t width) {
  const ArenaScope scope(arena_);
  const auto size = static_cast<double>(width);
  const std::int64_t wide = 3 * width;
  const Tensor x = values({sizes_.rows, width});
  const Tensor weight = values({wide, width});
  const Tensor y = values({sizes_.rows, wide});
  measure(Operation::linear, size, Linear{.x = x, .weight = weight, .bias = {}, .y = y});
  const Tensor d_x = values({sizes_.rows, width});
  const Tensor d_weight = values({wide, width});
  measure(Operation::linear_backward, size,
          LinearBackward{
              .d_y = y, .x = x, .weight = weight, .d_x = d_x, .d_weight = d_weight, .d_bias = {}});
  if (backend_.traits().fp8) fp8_products(width, x, weight, y);
  const Tensor table = values({sizes_.vocabulary, width});
  const Tensor d_table = values({sizes_.vocabulary, width});
  measure(Operation::head_loss, size,
          HeadLoss{.x = x,
                   .weight = table,
                   .targets = integers({sizes_.rows}),
                   .losses = real({sizes_.rows}),
                   .gradient_scale = 1,
                   .d_x = d_x,
                   .d_weight = d_table,
                   .logits = values({sizes_.head_chunk, sizes_.vocabulary})});
}

void Gauge::muon(std::int64_t width) {
  const ArenaScope scope(arena_);
  const Shape shape{width, width};
  measure(Operation::muon, static_cast<double>(width),
          Muon{.to = {.weights = values(shape)},
               .gradients = values(shape),
               .momentum = real(shape),
               .x = values(shape),
               .next = values(shape),
               .gram = values(shape),
               .polynomial = values(shape),
               .at = {}});
}

void Gauge::fp8_products(std::int64_t width, const Tensor& x, const Tensor& weight,
                         const Tensor& y) {
  const ArenaScope scope(arena_);
  const auto codes = [&](const Tensor& of, bool transposed) {
    const Shape shape = transposed ? Shape{of.shape[1], of.shape[0]} : of.shape;
    return Fp8{.codes = scratch(DType::u8, shape), .scale = real({1})};
  };
  const auto size = static_cast<double>(width);
  measure(Operation::linear_fp8, size,
          LinearFp8{.in_rows_type = {.x = x, .weight = weight, .bias = {}, .y = y},
                    .x = codes(x, false),
                    .weight = codes(weight, false)});
  measure(Operation::linear_backward_fp8, size,
          LinearBackwardFp8{.in_rows_type = {.d_y = y,
                                             .x = x,
                                             .weight = weight,
                                             .d_x = values(x.shape),
                                             .d_weight = values(weight.shape),
                                             .d_bias = {}},
                            .d_y = codes(y, false),
                            .d_y_transposed = codes(y, true),
                            .x_transposed = codes(x, true),
                            .weight_transposed = codes(weight, true)});
}

void Gauge::attention(std::int64_t head_dim) {
  if (!backend_.supports(Operation::attention, head_dim)) return;
  const ArenaScope scope(arena_);
  const auto size = static_cast<double>(head_dim);
  const AttentionShape shape{
      .heads = 8, .kv_heads = 4, .head_dim = head_dim, .sequence = sizes_.sequence};
  const Tensor qkv = values({sizes_.rows, shape.qkv_width()});
  const Tensor starts = integers({sizes_.rows});
  const Tensor out = values({sizes_.rows, shape.query_width()});
  const Tensor lse = real({sizes_.rows, shape.heads});
  measure(Operation::attention, size,
          Attention{.shape = shape, .qkv = qkv, .document_starts = starts, .out = out, .lse = lse});
  measure(Operation::attention_backward, size,
          AttentionBackward{.shape = shape,
                            .qkv = qkv,
                            .document_starts = starts,
                            .out = out,
                            .lse = lse,
                            .d_out = values({sizes_.rows, shape.query_width()}),
                            .d_qkv = values({sizes_.rows, shape.qkv_width()}),
                            .scratch = real({sizes_.rows, shape.heads})});
}

void Gauge::memory_bound(std::int64_t rows, std::int64_t width) {
  const ArenaScope scope(arena_);
  const Shape shape{rows, width};
  const Tensor a = values(shape);
  const Tensor b = values(shape);
  const Tensor c = values(shape);
  const Tensor d = values(shape);
  const Tensor weight = values({width});
  const Tensor rstd = real({rows});
  const Tensor tokens = integers({rows});
  measure(Operation::embedding, 0, Embedding{.table = a, .tokens = tokens, .out = b});
  measure(Operation::embedding_backward, 0,
          EmbeddingBackward{.d_out = a, .tokens = tokens, .d_table = b});
  measure(Operation::add_norm, 0,
          AddNorm{.input = a,
                  .branch = b,
                  .dropout = {},
                  .weight = weight,
                  .sum = c,
                  .out = d,
                  .rstd = rstd});
  measure(Operation::norm_again, 0, NormAgain{.x = a, .rstd = rstd, .weight = weight, .out = b});
  measure(Operation::add_norm_backward, 0,
          AddNormBackward{.d_out = a,
                          .d_residual = b,
                          .sum = c,
                          .weight = weight,
                          .rstd = rstd,
                          .dropout = {},
                          .d_sum = d,
                          .d_branch = {},
                          .d_weight = values({width}),
                          .scratch = real({backend_.traits().reduction_parts, width})});
  const Tensor half = values({rows, width / 2});
  measure(Operation::mlp_activation, 0,
          MlpActivation{.activation = Activation::swiglu, .pre = a, .out = half});
  measure(
      Operation::mlp_activation_backward, 0,
      MlpActivationBackward{.activation = Activation::swiglu, .pre = a, .d_out = half, .d_pre = b});
  const AttentionShape heads{.heads = 2, .kv_heads = 1, .head_dim = width / 4, .sequence = rows};
  const Tensor table = real({rows, heads.head_dim});
  measure(Operation::rope, 0, Rope{.shape = heads, .qkv = a, .table = table});
  const Tensor head_weight = values({heads.head_dim});
  const Tensor head_rstd = real({rows, heads.heads + heads.kv_heads});
  measure(Operation::qk_norm, 0,
          QkNorm{.shape = heads,
                 .qkv = a,
                 .q_weight = head_weight,
                 .k_weight = head_weight,
                 .out = b,
                 .rstd = head_rstd});
  measure(Operation::qk_norm_backward, 0,
          QkNormBackward{.shape = heads,
                         .qkv = a,
                         .q_weight = head_weight,
                         .k_weight = head_weight,
                         .rstd = head_rstd,
                         .d_qkv = b,
                         .d_q_weight = values({heads.head_dim}),
                         .d_k_weight = values({heads.head_dim}),
                         .scratch = real({backend_.traits().reduction_parts, 2 * heads.head_dim})});
  measure(Operation::adamw, 0,
          AdamW{.to = {.weights = a}, .gradients = b, .m = real(shape), .v = real(shape)});
  if (backend_.traits().fp8) {
    measure(Operation::peak, 0, Peak{.x = a, .peak = real({1})});
    measure(Operation::quantise, 0,
            Quantise{.x = a,
                     .peak = real({1}),
                     .codes = scratch(DType::u8, shape),
                     .transposed = scratch(DType::u8, {width, rows}),
                     .scale = real({1})});
  }
  const std::int64_t blocks = moment_blocks(rows * width);
  measure(Operation::adamw_8bit, 0,
          AdamW8{.to = {.weights = a},
                 .gradients = b,
                 .m = scratch(DType::u8, shape),
                 .v = scratch(DType::u8, shape),
                 .m_scale = real({blocks}),
                 .v_scale = real({blocks})});
}

/// Through to the drive: what stays in the system's memory instead only makes a run faster.
void Gauge::host_copies(const std::filesystem::path& folder) {
  constexpr std::int64_t kBytes = std::int64_t{16} << 20;
  const ArenaScope scope(arena_);
  const Tensor own = scratch(DType::u8, {kBytes});
  const Buffer tier = backend_.allocate_host(folder, kBytes);
  const Tensor host{tier.data(), DType::u8, {kBytes}};
  cancel_.throw_if_requested();
  const Stopwatch writing;
  backend_.run(ToHost{.from = own, .host = host});
  backend_.wait();
  tier.flush();
  samples_.push_back({Operation::to_host, kBytes, kBytes / writing.seconds()});
  cancel_.throw_if_requested();
  const Stopwatch reading;
  backend_.run(FromHost{.host = host, .to = own});
  backend_.wait();
  samples_.push_back({Operation::from_host, kBytes, kBytes / reading.seconds()});
}

}  // namespace

DeviceSpeed measure_device(Backend& backend, const std::filesystem::path& folder,
                           const CancelToken& cancel) {
  Gauge gauge(backend, cancel);
  gauge.calls();
  const double share = gauge.bf16_share();
  for (const std::int64_t width : gauge.sizes().widths) {
    gauge.products(width);
    gauge.muon(width);
  }
  for (const std::int64_t head_dim : {16, 32, 64, 128})
    gauge.attention(head_dim);
  gauge.memory_bound(512, 128);
  gauge.memory_bound(4096, 1024);
  try {
    gauge.host_copies(folder);
  } catch (const Error&) {
    // A drive without room for this has none for what would be offloaded either.
  }
  return {backend.device(), gauge.take_samples(),
          DeviceSpeed::Traits{.call_seconds = gauge.call_seconds(), .bf16_share = share}};
}

}  // namespace athanor
