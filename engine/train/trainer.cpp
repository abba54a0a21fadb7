// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/clock.h"
#include "engine/base/json.h"

namespace athanor {

namespace {
/// A peak at which small models learn well.
constexpr double kUsualRate = 6e-3;

constexpr const char* kM_scale = ".m_scale";
constexpr const char* kV_scale = ".v_scale";
constexpr const char* kMomentum = ".momentum";

constexpr const char* kMaster = ".master";
constexpr const char* kLow_bits = ".low_bits";

bool any_ends_with(const SafetensorsFile& file, std::string_view suffix) {
  return std::any_of(file.tensors().begin(), file.tensors().end(),
                     [&](const NamedTensor& entry) { return entry.name.ends_with(suffix); });
}

WeightStorage storage_in(const CheckpointFolder::Loaded& from) {
  const std::vector<NamedTensor>& weights = from.weights.tensors();
  if (weights.empty() || weights.front().tensor.dtype != DType::bf16) return WeightStorage::f32;
  if (any_ends_with(*from.optimizer, kMaster)) return WeightStorage::bf16_master;
  return any_ends_with(*from.optimizer, kLow_bits) ? WeightStorage::bf16_split
                                                   : WeightStorage::bf16_stochastic;
}

const char* text_of(WeightStorage storage) {
  switch (storage) {
    case WeightStorage::bf16_master:
      return "BF16 weights with an FP32 master";
    case WeightStorage::bf16_split:
      return "BF16 weights with their lower bits";
    case WeightStorage::bf16_stochastic:
      return "BF16 weights rounded at random";
    default:
      return "FP32 weights";
  }
}

TrainPlan checked_plan(const Trainer::Inputs& inputs, const Backend& backend) {
  check_backend(inputs.model, inputs.train, backend);
  return plan_training(inputs.model, inputs.train, backend.traits());
}
}  // namespace

Trainer::Trainer(Inputs inputs, Backend& backend, const CheckpointFolder::Loaded* from)
    : inputs_(std::move(inputs)),
      backend_(backend),
      plan_(checked_plan(inputs_, backend)),
      arenas_(plan_, backend, inputs_.checkpoints.parent_path()),
      memory_(inputs_.model, inputs_.train, backend, arenas_),
      loader_(inputs_.train_tokens, inputs_.end_of_text, inputs_.model.context,
              static_cast<std::uint64_t>(inputs_.train.seed)),
      evaluation_loader_(inputs_.validation_tokens, inputs_.end_of_text, inputs_.model.context),
      batches_(static_cast<std::size_t>(inputs_.train.gradient_accumulation),
               HostBatch(inputs_.train.micro_batch, inputs_.model.context)),
      evaluation_batch_(inputs_.train.micro_batch, inputs_.model.context),
      losses_(static_cast<std::size_t>(memory_.losses.bytes())) {
  evaluation_loader_.limit(inputs_.train.evaluation_tokens);
  if (backend.traits().tunes) tune();
  if (from == nullptr) {
    initialise();
  } else {
    restore(*from);
  }
}

/// Before anything that counts is in memory.
void Trainer::tune() {
  backend_.tune(true);
  memory_.train_micro_batch(0, 0, true);
  memory_.evaluate();
  // AdamW has no products whose shapes would be new.
  if (inputs_.train.optimizer == Optimizer::muon) memory_.update(0, 1);
  backend_.tune(false);
  // What is offloaded may still be on its way when initial values are put in its place.
  backend_.wait();
}

void Trainer::initialise() {
  const ParameterTable& table = memory_.parameters();
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const int index = static_cast<int>(i);
    memory_.set_weights(index, initial_values(table.all()[i], index,
                                              static_cast<std::uint64_t>(inputs_.train.seed)));
  }
  for (const Tensor& moments : memory_.optimizer().flat())
    memory_.clear(moments);
}

/// How a run rounds what it keeps stays what it was at its start.
void Trainer::check_kinds(const CheckpointFolder::Loaded& from) const {
  const auto refuse = [&](const std::string& saved, const std::string& asked) {
    throw Error(ErrorKind::damaged,
                fmt::format("{} was saved with {}, but the run's settings ask for {}, and a run "
                            "cannot change them. Resume it with the settings it was started "
                            "with, or start a new run.",
                            from.path.string(), saved, asked));
  };
  const auto optimizer = [](bool muon) { return muon ? "Muon" : "AdamW"; };
  const bool of_muon = any_ends_with(*from.optimizer, kMomentum);
  const bool asked_muon = memory_.optimizer().any_of_muon();
  if (of_muon != asked_muon) refuse(optimizer(of_muon), optimizer(asked_muon));
  const auto moments = [](bool coded) { return coded ? "8-bit moments" : "FP32 moments"; };
  const bool coded = any_ends_with(*from.optimizer, kM_scale);
  const bool asked_coded = memory_.optimizer().any_coded();
  if (coded != asked_coded) refuse(moments(coded), moments(asked_coded));
  const WeightStorage saved = storage_in(from);
  if (saved != inputs_.train.weights) refuse(text_of(saved), text_of(inputs_.train.weights));
}

void Trainer::restore(const CheckpointFolder::Loaded& from) {
  if (!from.optimizer) {
    throw Error(ErrorKind::internal, "A run was resumed without its optimizer's state.");
  }
  const auto read_all = [&](const SafetensorsFile& file, const std::vector<NamedTensor>& targets) {
    for (const auto& [name, tensor] : targets)
      memory_.put(tensor, file.find(name, tensor.dtype, tensor.shape).byte_span());
  };
  check_kinds(from);
  state_ = train_state_from_json(*from.state, (from.path / "state.json").string());
  read_all(from.weights, named_weights());
  read_all(*from.optimizer, named_optimizer());
  loader_.restore(state_.loader);
  saved_step_ = state_.step;
}

std::vector<NamedTensor> Trainer::named_weights() const {
  const ParameterTable& table = memory_.parameters();
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < table.all().size(); ++i)
    tensors.push_back({table.all()[i].name, table.view(memory_.weights, static_cast<int>(i))});
  return tensors;
}

std::vector<NamedTensor> Trainer::named_optimizer() const {
  const ParameterTable& table = memory_.parameters();
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const std::string& name = table.all()[i].name;
    const ParameterMoments& moments = memory_.optimizer().of(i);
    const auto add = [&](const char* suffix, const Tensor& tensor) {
      if (tensor.present()) tensors.push_back({name + suffix, tensor});
    };
    add(".m", moments.m);
    add(".v", moments.v);
    add(kMomentum, moments.momentum);
    add(kM_scale, moments.m_scale);
    add(kV_scale, moments.v_scale);
    const auto part = [&](const Tensor& flat) {
      return flat.present() ? table.view(flat, static_cast<int>(i)) : Tensor();
    };
    add(kMaster, part(memory_.master));
    add(kLow_bits, part(memory_.low_bits));
  }
  return tensors;
}

Trainer::End Trainer::run(TrainControl& control, TrainObserver& observer) {
  const auto due = [&](std::int64_t interval) {
    return state_.step == inputs_.train.steps || (interval > 0 && state_.step % interval == 0);
  };
  while (state_.step < inputs_.train.steps) {
    attend(control, observer);
    if (control.stop_requested() || !step(control, observer)) {
      if (saved_step_ != state_.step && state_.step > 0) save(observer, true);
      return End::stopped;
    }
    if (due(inputs_.train.evaluation_interval)) evaluate_and_tell(observer);
    if (due(inputs_.train.checkpoint_interval)) {
      save(observer, state_.step == inputs_.train.steps);
    }
  }
  return End::finished;
}

double Trainer::attend(TrainControl& control, TrainObserver& observer) {
  const Stopwatch watch;
  if (control.take_save_request() && state_.step > 0) save(observer, false);
  if (!control.pause_requested()) return watch.seconds();
  observer.on_paused(true);
  while (control.pause_requested() && !control.stop_requested()) {
    control.wait_while_paused();
    if (control.take_save_request() && state_.step > 0) save(observer, false);
  }
  observer.on_paused(false);
  return watch.seconds();
}

std::int64_t Trainer::load_batches() {
  std::int64_t trained = 0;
  for (HostBatch& batch : batches_) {
    loader_.next(batch);
    trained += batch.trained_tokens;
  }
  return trained;
}

bool Trainer::step(TrainControl& control, TrainObserver& observer) {
  const Stopwatch watch;
  double waited = 0;
  const std::int64_t next_step = state_.step + 1;
  const std::int64_t trained = load_batches();
  double loss = 0;
  for (std::size_t micro = 0; micro < batches_.size(); ++micro) {
    waited += attend(control, observer);
    if (control.stop_requested()) {
      loader_.restore(state_.loader);
      return false;
    }
    upload(batches_[micro]);
    memory_.train_micro_batch(1.0 / static_cast<double>(trained),
                              static_cast<std::uint64_t>(state_.step) * batches_.size() + micro,
                              micro == 0);
    loss += sum_losses();
  }
  loss /= static_cast<double>(trained);
  if (!std::isfinite(loss)) throw_non_finite("loss", next_step);
  const double rate = learning_rate_at(inputs_.train, next_step);
  const double norm = memory_.update(rate, next_step);
  if (!std::isfinite(norm)) throw_non_finite("gradient", next_step);

  const double seconds = watch.seconds() - waited;
  state_.step = next_step;
  state_.tokens += trained;
  state_.seconds += seconds;
  state_.loader = loader_.state();
  observer.on_step({.step = next_step,
                    .tokens = state_.tokens,
                    .seconds = state_.seconds,
                    .loss = loss,
                    .learning_rate = rate,
                    .gradient_norm = norm,
                    .tokens_per_second = static_cast<double>(trained) / seconds});
  return true;
}

void Trainer::throw_non_finite(const std::string& what, std::int64_t step) const {
  const double highest = inputs_.train.learning_rate;
  const std::string remedy =
      saved_step_ > 0
          ? fmt::format(
                "The checkpoint of step {} is kept; resume from it with a lower one, for example "
                "a tenth.",
                saved_step_)
          : fmt::format(
                "No checkpoint was saved yet; start again with a much lower learning rate, such "
                "as {:g}.",
                std::min(kUsualRate, highest / 10));
  throw Error(ErrorKind::non_finite,
              fmt::format("The {} was no longer a number at step {}: the learning rate ({:g} at "
                          "its highest) is too high. {}",
                          what, step, highest, remedy),
              fmt::format("learning rate {:g} at this step, data pass {}, window {}",
                          learning_rate_at(inputs_.train, step), state_.loader.epoch + 1,
                          state_.loader.window));
}

void Trainer::upload(const HostBatch& batch) {
  const auto send = [&](const Tensor& to, const std::vector<std::int32_t>& from) {
    backend_.upload(to, std::as_bytes(std::span(from)));
  };
  send(memory_.batch.tokens, batch.tokens);
  send(memory_.batch.targets, batch.targets);
  send(memory_.batch.document_starts, batch.document_starts);
}

double Trainer::sum_losses() {
  backend_.download(losses_, memory_.losses);
  const Tensor host{losses_.data(), memory_.losses.dtype, memory_.losses.shape};
  double sum = 0;
  if (host.dtype == DType::f64) {
    for (const double loss : host.span<double>())
      sum += loss;
  } else {
    for (const float loss : host.span<float>())
      sum += loss;
  }
  return sum;
}

Evaluation Trainer::evaluate() {
  double sum = 0;
  std::int64_t tokens = 0;
  evaluation_loader_.restart();
  while (evaluation_loader_.next(evaluation_batch_)) {
    upload(evaluation_batch_);
    memory_.evaluate();
    sum += sum_losses();
    tokens += evaluation_batch_.trained_tokens;
  }
  const double loss = sum / static_cast<double>(tokens);
  const double tokens_per_byte = static_cast<double>(inputs_.validation_tokens.tokens()) /
                                 static_cast<double>(inputs_.validation_bytes);
  return {.step = state_.step,
          .loss = loss,
          .bits_per_byte = loss * tokens_per_byte / std::numbers::ln2,
          .tokens = tokens};
}

void Trainer::evaluate_and_tell(TrainObserver& observer) {
  const Evaluation evaluation = evaluate();
  if (!std::isfinite(evaluation.loss)) throw_non_finite("validation loss", state_.step);
  state_.validation_loss = evaluation.loss;
  evaluated_step_ = state_.step;
  observer.on_evaluation(evaluation);
}

void Trainer::save(TrainObserver& observer, bool required) {
  // Each checkpoint has a validation loss of its own, so that the best can be told.
  if (evaluated_step_ != state_.step) evaluate_and_tell(observer);
  // Overflowed weights would replace good checkpoints by useless ones.
  if (!std::isfinite(backend_.sum_of_squares(memory_.weights))) {
    throw_non_finite("sum of the model's weights", state_.step);
  }
  const TrainState before = state_;
  try {
    write_checkpoint(observer);
  } catch (const Error& error) {
    state_ = before;
    if (required || error.kind() != ErrorKind::io) throw;
    observer.on_checkpoint_failed(state_.step, error.message());
  }
}

void Trainer::write_checkpoint(TrainObserver& observer) {
  const bool best = !state_.best_step || state_.validation_loss < state_.best_loss;
  if (best) {
    state_.best_step = state_.step;
    state_.best_loss = state_.validation_loss;
  }
  const CheckpointFolder folder(inputs_.checkpoints);
  const std::vector<NamedTensor> weights = named_weights();
  const std::vector<NamedTensor> optimizer = named_optimizer();
  const std::filesystem::path path = folder.save(
      {.step = state_.step,
       .weights = weights,
       .optimizer = optimizer,
       .state = train_state_to_json(state_),
       .read = [&](const Tensor& tensor, std::span<std::byte> to) { memory_.get(tensor, to); }});
  saved_step_ = state_.step;
  folder.prune(static_cast<int>(inputs_.train.kept_checkpoints), state_.best_step);
  observer.on_checkpoint(
      {.step = state_.step, .path = path, .validation_loss = state_.validation_loss, .best = best});
}

}  // namespace athanor
