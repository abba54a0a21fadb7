// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/train_memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/tensor/bf16.h"

namespace athanor {
namespace {

/// A multiple of kMomentBlock, so that no block of 8-bit moments is cut.
constexpr std::int64_t kSlice_elements = std::int64_t{1} << 22;
static_assert(kSlice_elements % kMomentBlock == 0);

/// Dropout counts its streams under the run's own seed.
constexpr std::uint64_t kRounding_key = 0x726F756E64696E67ULL;

DType stored(Precision precision, DType real) {
  return precision == Precision::bf16 ? DType::bf16 : real;
}

DType stored(WeightStorage weights, DType real) {
  return weights == WeightStorage::f32 ? real : DType::bf16;
}

WeightFormat frozen_format(FrozenStorage base) {
  switch (base) {
    case FrozenStorage::q8_0:
      return WeightFormat::q8_0;
    case FrozenStorage::q4_0:
      return WeightFormat::q4_0;
    default:
      return WeightFormat::as_saved;
  }
}

}  // namespace

TrainMemory::TrainMemory(const ModelConfig& model, const TrainConfig& train, Backend& backend,
                         TrainArenas& arenas)
    : train_(train),
      backend_(backend),
      arenas_(arenas),
      transformer_(model, backend, arenas.device, model.context,
                   stored(train.activations, backend.compute_type()), train.lora) {
  const Shape flat{parameters().flat_elements()};
  const std::int64_t tokens = train.micro_batch * model.context;
  const DType real = backend.compute_type();
  const auto tier = [&](bool offloaded) -> Arena& {
    return offloaded ? arenas.host : arenas.device;
  };
  if (train.lora.on()) {
    const DType numbers = train.lora.base == FrozenStorage::f32 ? real : DType::bf16;
    base_.emplace(transformer_.parameters(), frozen_format(train.lora.base), numbers, arenas.device,
                  VocabularyFormat::numbers);
  }
  weights = arenas.device.take(MemoryRole::weights, stored(train.weights, real), flat, {"weights"});
  Arena& master_tier = tier(train.offload_master);
  if (train.weights == WeightStorage::bf16_master) {
    master = master_tier.take(MemoryRole::weights, real, flat, {"master weights"});
  } else if (train.weights == WeightStorage::bf16_split) {
    low_bits = master_tier.take(MemoryRole::weights, DType::u16, flat, {"weights' lower bits"});
  }
  if (train.products == Products::fp8)
    fp8 = Fp8Tensors::take(transformer_.parameters(), real, arenas.device);
  gradients = tier(train.offload_gradients)
                  .take(MemoryRole::gradients, stored(train.gradients, real), flat, {"gradients"});
  optimizer_ = OptimizerState(parameters(), train, real, tier(train.offload_moments));
  batch.tokens = arenas.device.take(MemoryRole::batch, DType::i32, {tokens}, {"tokens"});
  batch.targets = arenas.device.take(MemoryRole::batch, DType::i32, {tokens}, {"targets"});
  batch.document_starts =
      arenas.device.take(MemoryRole::batch, DType::i32, {tokens}, {"document starts"});
  losses = arenas.device.take(MemoryRole::batch, real, {tokens}, {"losses"});
  const Recompute recompute{train.recompute_level, train.recompute_further_layers};
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const bool offloaded = recompute.of(layer) == KeepLevel::host_input;
    host_inputs_.push_back(
        offloaded ? arenas.host.take(MemoryRole::activations, stored(train.activations, real),
                                     {tokens, model.width}, {"block input", layer})
                  : Tensor());
  }
  cut_slices();
  staging_bytes_ = most_staging_bytes();
}

ModelWeights TrainMemory::model_weights() const {
  return base_ ? base_->view(weights) : ModelWeights(weights);
}

void TrainMemory::load_base(const WeightSource& source) {
  base_->load(source, backend_);
}

void TrainMemory::cut_slices() {
  for (std::size_t i = 0; i < parameters().all().size(); ++i) {
    if (optimizer().of(i).of_muon()) {
      cut_matrices(i);
      continue;
    }
    const std::int64_t count = parameters().all()[i].shape.elements();
    for (std::int64_t first = 0; first < count; first += kSlice_elements)
      slices_.push_back({i, first, std::min(kSlice_elements, count - first), {}});
  }
}

void TrainMemory::cut_matrices(std::size_t parameter) {
  const Parameter& of = parameters().all()[parameter];
  std::int64_t first = 0;
  for (const std::int64_t rows : of.matrix_rows) {
    const Shape matrix{rows, of.shape[1]};
    slices_.push_back({parameter, first, matrix.elements(), matrix});
    muon_sizes_.include(matrix);
    first += matrix.elements();
  }
}

void TrainMemory::clear(const Tensor& tensor) {
  // The file of the host tier begins as zeros.
  if (tensor.present() && !arenas_.host.holds(tensor)) backend_.zero(tensor);
}

void TrainMemory::put(const Tensor& to, std::span<const std::byte> from) {
  if (arenas_.host.holds(to)) {
    std::copy(from.begin(), from.end(), to.data);
  } else {
    backend_.upload(to, from);
  }
}

void TrainMemory::get(const Tensor& from, std::span<std::byte> to) {
  if (arenas_.host.holds(from)) {
    backend_.wait();
    std::copy_n(from.data, to.size(), to.data());
  } else {
    backend_.download(to, from);
  }
}

std::int64_t TrainMemory::checkpoint_bytes() const {
  std::int64_t bytes = 0;
  const auto add = [&](const Tensor& tensor) { bytes += tensor.present() ? tensor.bytes() : 0; };
  for (const Tensor* tensor : {&weights, &master, &low_bits})
    add(*tensor);
  for (const Tensor& moments : optimizer_.flat())
    add(moments);
  return bytes;
}

void TrainMemory::set_weights(int parameter, std::span<const float> values) {
  const auto put_all = [&](const Tensor& flat, auto convert) {
    std::vector<decltype(convert(0.0F))> converted;
    for (const float value : values)
      converted.push_back(convert(value));
    put(parameters().view(flat, parameter), std::as_bytes(std::span(converted)));
  };
  if (weights.dtype == DType::bf16) {
    put_all(weights, nearest_bf16_away);
    if (low_bits.present()) put_all(low_bits, low_bits_of);
  }
  for (const Tensor& real : {weights, master}) {
    if (real.dtype == DType::f64) {
      put_all(real, [](float value) { return static_cast<double>(value); });
    } else if (real.present() && real.dtype == DType::f32) {
      put(parameters().view(real, parameter), std::as_bytes(values));
    }
  }
}

void TrainMemory::train_micro_batch(double gradient_scale, std::uint64_t micro_step,
                                    bool first_of_step) {
  transformer_.begin_micro_batch(gradient_scale, micro_step);
  const auto& recorded = first_of_step ? first_micro_batch_ : later_micro_batch_;
  if (recorded == nullptr) {
    run_micro_batch(first_of_step);
    return;
  }
  // It works where it did then, on memory that the arena has had back since.
  Arena& arena = arenas_.device;
  const ArenaScope scope(arena);
  const Arena::Mark now = arena.mark();
  arena.borrow(MemoryRole::activations, DType::u8,
               {arena.allocated_bytes() - now.low_bytes - now.high_bytes}, {"recorded work"});
  recorded->replay();
}

bool TrainMemory::record_micro_batches() {
  const Recompute recompute{train_.recompute_level, train_.recompute_further_layers};
  if (train_.offload_gradients || recompute.most() == KeepLevel::host_input) return false;
  first_micro_batch_ = backend_.record([this] { run_micro_batch(true); });
  if (train_.gradient_accumulation > 1)
    later_micro_batch_ = backend_.record([this] { run_micro_batch(false); });
  return first_micro_batch_ != nullptr;
}

void TrainMemory::run_micro_batch(bool first_of_step) {
  transformer_.train({.batch = batch,
                      .weights = model_weights(),
                      .gradients = gradients,
                      .gradients_on_host = train_.offload_gradients,
                      .first_of_step = first_of_step,
                      .host_inputs = host_inputs_,
                      .fp8 = fp8,
                      .losses = losses,
                      .head_chunk_tokens = train_.head_chunk_tokens,
                      .recompute = {train_.recompute_level, train_.recompute_further_layers},
                      .dropout_seed = static_cast<std::uint64_t>(train_.seed)},
                     arenas_.device);
}

void TrainMemory::evaluate() {
  transformer_.evaluate(batch, model_weights(), losses, train_.head_chunk_tokens, arenas_.device);
}

TrainMemory::Decoding TrainMemory::start_decoding() {
  Arena& arena = arenas_.device;
  arena.begin(Phase::sample);
  const ModelConfig& model = transformer_.config();
  const std::int64_t positions = std::min(kSamplePositions, model.context);
  return {.cache = transformer_.take_cache(positions, arena),
          .tokens = arena.take(MemoryRole::batch, DType::i32, {positions}, {"tokens of a sample"}),
          .logits = arena.take(MemoryRole::logits, backend_.compute_type(), {model.vocabulary},
                               {"logits of a token"})};
}

void TrainMemory::decode(const Decoding& decoding, std::int64_t count,
                         std::int64_t first_position) {
  transformer_.decode(decoding.tokens.slice_rows(0, count), first_position, model_weights(),
                      decoding.cache, decoding.logits, arenas_.device);
}

Tensor TrainMemory::cut(const Tensor& flat, const Slice& slice) const {
  if (!flat.present()) return {};
  return flat.slice_rows(parameters().all()[slice.parameter].offset + slice.first, slice.elements);
}

TrainMemory::SliceTensors TrainMemory::tensors_of(const Slice& slice) const {
  const ParameterMoments& moments = optimizer().of(slice.parameter);
  const auto part = [&](const Tensor& of) {
    return of.present() ? of.reshaped({of.elements()}).slice_rows(slice.first, slice.elements)
                        : Tensor();
  };
  const auto scales = [&](const Tensor& of) {
    return moments.coded()
               ? of.slice_rows(slice.first / kMomentBlock, moment_blocks(slice.elements))
               : Tensor();
  };
  return {.to = {.weights = cut(weights, slice),
                 .master = cut(master, slice),
                 .low_bits = cut(low_bits, slice)},
          .gradients = cut(gradients, slice),
          .moments = {.m = part(moments.m),
                      .v = part(moments.v),
                      .m_scale = scales(moments.m_scale),
                      .v_scale = scales(moments.v_scale),
                      .momentum = part(moments.momentum)}};
}

std::int64_t TrainMemory::most_staging_bytes() const {
  std::int64_t most = 0;
  for (const Slice& slice : slices_) {
    const SliceTensors of = tensors_of(slice);
    std::int64_t bytes = 0;
    const auto add = [&](bool offloaded, std::initializer_list<Tensor> tensors) {
      for (const Tensor& tensor : tensors)
        bytes += offloaded ? Staging::bytes_of(tensor) : 0;
    };
    add(train_.offload_gradients, {of.gradients});
    add(train_.offload_master, {of.to.master, of.to.low_bits});
    add(train_.offload_moments,
        {of.moments.m, of.moments.v, of.moments.m_scale, of.moments.v_scale, of.moments.momentum});
    most = std::max(most, bytes);
  }
  return most;
}

template <class Bring, class Work>
void TrainMemory::for_slices(Staging& staging, const Bring& bring, const Work& work) {
  std::array<SliceTensors, 2> ready;
  const auto fill = [&](std::size_t index) {
    if (index >= slices_.size()) return;
    staging.begin(static_cast<int>(index % 2));
    ready[index % 2] = bring(tensors_of(slices_[index]));
  };
  fill(0);
  for (std::size_t index = 0; index < slices_.size(); ++index) {
    fill(index + 1);
    work(index, ready[index % 2]);
    staging.take_back(static_cast<int>(index % 2));
  }
}

double TrainMemory::gradient_norm(Staging& staging) {
  double squares = 0;
  for_slices(
      staging,
      [&](SliceTensors of) {
        if (train_.offload_gradients) of.gradients = staging.bring(of.gradients, false);
        return of;
      },
      [&](std::size_t, const SliceTensors& on) {
        squares += backend_.sum_of_squares(on.gradients);
      });
  return std::sqrt(squares);
}

double TrainMemory::update(double learning_rate, std::int64_t step) {
  arenas_.device.begin(Phase::update);
  const ArenaScope scope(arenas_.device);
  Staging staging(backend_, arenas_.device, staging_bytes_);
  const DType multiplied = backend_.traits().bf16_only ? DType::bf16 : backend_.compute_type();
  const MuonScratch scratch(muon_sizes_, multiplied, arenas_.device);
  const double norm = gradient_norm(staging);
  if (!std::isfinite(norm)) return norm;
  const double scale =
      train_.clip_norm > 0 && norm > train_.clip_norm ? train_.clip_norm / norm : 1.0;
  const AdamWStep at{
      .learning_rate = static_cast<float>(learning_rate),
      .beta1 = static_cast<float>(train_.beta1),
      .beta2 = static_cast<float>(train_.beta2),
      .epsilon = static_cast<float>(train_.epsilon),
      .decay = static_cast<float>(train_.weight_decay),
      .gradient_scale = static_cast<float>(scale),
      .step = step,
      .rounding = {.seed = static_cast<std::uint64_t>(train_.seed) ^ kRounding_key,
                   .stream = static_cast<std::uint64_t>(step) * slices_.size()},
  };
  const auto bring = [&](SliceTensors of) {
    if (train_.offload_gradients) of.gradients = staging.bring(of.gradients, false);
    if (train_.offload_master) {
      of.to.master = staging.bring(of.to.master, true);
      of.to.low_bits = staging.bring(of.to.low_bits, true);
    }
    if (train_.offload_moments) {
      for (Tensor* part : {&of.moments.m, &of.moments.v, &of.moments.m_scale, &of.moments.v_scale,
                           &of.moments.momentum})
        *part = staging.bring(*part, true);
    }
    return of;
  };
  for_slices(staging, bring, [&](std::size_t index, const SliceTensors& on) {
    AdamWStep own = at;
    if (!parameters().all()[slices_[index].parameter].decay) own.decay = 0;
    own.rounding.stream += index;
    if (on.moments.of_muon()) {
      update_matrix(slices_[index].matrix, on, own, scratch);
    } else {
      update_slice(on, own);
    }
  });
  return norm;
}

void TrainMemory::update_slice(const SliceTensors& on, const AdamWStep& at) {
  const auto run = [&](auto op) {
    op.to = on.to;
    op.gradients = on.gradients;
    op.m = on.moments.m;
    op.v = on.moments.v;
    op.at = at;
    backend_.run(op);
  };
  if (on.moments.coded()) {
    AdamW8 op;
    op.m_scale = on.moments.m_scale;
    op.v_scale = on.moments.v_scale;
    run(op);
  } else {
    run(AdamW());
  }
}

void TrainMemory::update_matrix(const Shape& matrix, const SliceTensors& on, const AdamWStep& at,
                                const MuonScratch& scratch) {
  Muon op = scratch.step_of(matrix);
  op.to = on.to;
  op.gradients = on.gradients.reshaped(matrix);
  op.momentum = on.moments.momentum.reshaped(matrix);
  op.at = {.learning_rate = at.learning_rate,
           .momentum = static_cast<float>(train_.muon_momentum),
           .decay = at.decay,
           .gradient_scale = at.gradient_scale,
           .rounding = at.rounding};
  backend_.run(op);
}

}  // namespace athanor
