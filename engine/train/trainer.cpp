// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/data/example_loader.h"

namespace athanor {

namespace {
/// A peak at which small models learn well.
constexpr double kUsualRate = 6e-3;

TrainPlan checked_plan(const Trainer::Inputs& inputs, const Backend& backend) {
  check_backend(inputs.model, inputs.train, backend);
  return plan_training(inputs.model, inputs.train, backend.traits());
}

std::unique_ptr<BatchSource> loader_of(const Trainer::Inputs& inputs) {
  const std::int64_t context = inputs.model.context;
  const auto seed = static_cast<std::uint64_t>(inputs.train.seed);
  if (inputs.train_examples != nullptr) {
    return std::make_unique<ExampleLoader>(*inputs.train_examples, inputs.end_of_text, context,
                                           seed);
  }
  return std::make_unique<BatchLoader>(inputs.train_tokens, inputs.end_of_text, context, seed);
}

std::unique_ptr<EvaluationSource> evaluation_loader_of(const Trainer::Inputs& inputs) {
  const std::int64_t context = inputs.model.context;
  if (inputs.validation_examples != nullptr) {
    return std::make_unique<ExampleEvaluationLoader>(*inputs.validation_examples,
                                                     inputs.end_of_text, context);
  }
  return std::make_unique<EvaluationLoader>(inputs.validation_tokens, inputs.end_of_text, context);
}

/// Tokens of the held-out part that a loss is measured on, when all of it is.
std::int64_t measured_tokens(const Trainer::Inputs& inputs) {
  return inputs.validation_examples != nullptr ? inputs.validation_examples->trained()
                                               : inputs.validation_tokens.tokens();
}
}  // namespace

Trainer::Trainer(Inputs inputs, Backend& backend, const CheckpointFolder::Loaded* from)
    : inputs_(std::move(inputs)),
      backend_(backend),
      plan_(checked_plan(inputs_, backend)),
      arenas_(plan_, backend, inputs_.checkpoints.parent_path()),
      memory_(inputs_.model, inputs_.train, backend, arenas_),
      loader_(loader_of(inputs_)),
      evaluation_loader_(evaluation_loader_of(inputs_)),
      batches_(static_cast<std::size_t>(inputs_.train.gradient_accumulation),
               HostBatch(inputs_.train.micro_batch, inputs_.model.context)),
      evaluation_batch_(inputs_.train.micro_batch, inputs_.model.context),
      losses_(static_cast<std::size_t>(memory_.losses.bytes())),
      saver_(inputs_.checkpoints) {
  evaluation_loader_->limit(inputs_.train.evaluation_tokens);
  if (backend.traits().tunes) tune();
  if (inputs_.train.lora.on()) memory_.load_base(*inputs_.base.weights);
  memory_.record_micro_batches();
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
  const ParameterList& table = memory_.parameters();
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const int index = static_cast<int>(i);
    memory_.set_weights(index, first_values(table.all()[i], index));
  }
  for (const Tensor& moments : memory_.optimizer().flat())
    memory_.clear(moments);
}

std::vector<float> Trainer::first_values(const Parameter& parameter, int index) const {
  if (inputs_.first_weights == nullptr) {
    return initial_values(parameter, index, static_cast<std::uint64_t>(inputs_.train.seed));
  }
  std::vector<float> values(static_cast<std::size_t>(parameter.shape.elements()));
  inputs_.first_weights->read(index, 0, values);
  return values;
}

Trainer::End Trainer::run(TrainControl& control, TrainObserver& observer) {
  since_save_ = Stopwatch();
  try {
    return run_steps(control, observer);
  } catch (...) {
    // What is being saved is told all the same; what ended the run is what counts.
    try {
      settle(observer, false);
    } catch (const Error&) {
      saving_step_ = -1;
    }
    throw;
  }
}

bool Trainer::due(std::int64_t interval) const {
  return state_.step == inputs_.train.steps || (interval > 0 && state_.step % interval == 0);
}

Trainer::End Trainer::run_steps(TrainControl& control, TrainObserver& observer) {
  const TrainConfig& train = inputs_.train;
  const auto evaluate_where_due = [&] {
    if (due(train.evaluation_interval) || due(train.checkpoint_interval))
      evaluate_and_tell(observer);
  };
  // A run may have ended between a checkpoint and its evaluation.
  if (state_.step > 0) evaluate_where_due();
  while (state_.step < train.steps) {
    attend(control, observer);
    if (control.stop_requested() || !step(control, observer)) {
      settle(observer, false);
      if (saved_step_ != state_.step && state_.step > 0) {
        save(observer, true);
        evaluate_and_tell(observer);
        settle(observer, true);
      }
      return End::stopped;
    }
    if (saver_.saving() && saver_.done()) settle(observer, false);
    if (save_is_due()) save(observer, state_.step == train.steps);
    evaluate_where_due();
  }
  settle(observer, true);
  return End::finished;
}

bool Trainer::save_is_due() const {
  const TrainConfig& train = inputs_.train;
  if (due(train.checkpoint_interval)) return true;
  if (train.checkpoint_before_evaluation && due(train.evaluation_interval)) return true;
  constexpr double kMinute_seconds = 60;
  return train.checkpoint_minutes > 0 && !saver_.saving() &&
         since_save_.seconds() >= kMinute_seconds * train.checkpoint_minutes;
}

double Trainer::attend(TrainControl& control, TrainObserver& observer) {
  const Stopwatch watch;
  if (control.take_save_request() && state_.step > 0) save(observer, false);
  if (!control.pause_requested()) return watch.seconds();
  observer.on_paused(true);
  while (control.pause_requested() && !control.stop_requested()) {
    control.wait_while_paused();
    if (control.take_save_request() && state_.step > 0) save(observer, false);
    settle(observer, false);
  }
  observer.on_paused(false);
  return watch.seconds();
}

std::int64_t Trainer::load_batches() {
  std::int64_t trained = 0;
  for (HostBatch& batch : batches_) {
    loader_->next(batch);
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
      loader_->restore(state_.loader);
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
  state_.loader = loader_->state();
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
  evaluation_loader_->restart();
  while (evaluation_loader_->next(evaluation_batch_)) {
    upload(evaluation_batch_);
    memory_.evaluate();
    sum += sum_losses();
    tokens += evaluation_batch_.trained_tokens;
  }
  const double loss = sum / static_cast<double>(tokens);
  const double tokens_per_byte =
      static_cast<double>(measured_tokens(inputs_)) / static_cast<double>(inputs_.validation_bytes);
  return {.step = state_.step,
          .loss = loss,
          .bits_per_byte = loss * tokens_per_byte / std::numbers::ln2,
          .tokens = tokens};
}

void Trainer::evaluate_and_tell(TrainObserver& observer) {
  if (evaluated_step_ == state_.step) return;
  const Evaluation evaluation = evaluate();
  const bool saving = saver_.saving() && saving_step_ == state_.step;
  if (!std::isfinite(evaluation.loss)) {
    if (saving) {
      saver_.finish();
      saver_.folder().remove(saving_step_);
    }
    throw_non_finite("validation loss", state_.step);
  }
  state_.validation_loss = evaluation.loss;
  evaluated_step_ = state_.step;
  if (saving) {
    saving_loss_ = evaluation.loss;
  } else if (saved_step_ == state_.step) {
    enter_loss(saved_step_, evaluation.loss);
  }
  observer.on_evaluation(evaluation);
}

}  // namespace athanor
