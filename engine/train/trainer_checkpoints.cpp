// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/train/trainer.h"

namespace athanor {

namespace {

constexpr const char* kM_scale = ".m_scale";
constexpr const char* kV_scale = ".v_scale";
constexpr const char* kMomentum = ".momentum";

/// What adapters were trained beside, in a checkpoint's state.
constexpr const char* kBase = "base";
constexpr const char* kPath = "path";
constexpr const char* kFingerprint = "fingerprint";

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

}  // namespace

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

void Trainer::check_base(const CheckpointFolder::Loaded& from) const {
  if (!inputs_.train.lora.on()) return;
  const Json base = from.state->value(kBase, Json::object());
  const Json saved = base.is_object() ? base.value(kFingerprint, Json()) : Json();
  if (saved == inputs_.base.fingerprint) return;
  throw Error(ErrorKind::damaged,
              fmt::format("The adapter in {} was trained beside another model than {}: what their "
                          "weights are told by is not the same. Put that model back, or start a "
                          "new run.",
                          from.path.string(), inputs_.base.path),
              fmt::format("{} instead of {}", inputs_.base.fingerprint, saved.dump()));
}

Json Trainer::state_to_json() const {
  Json state = train_state_to_json(state_);
  if (inputs_.train.lora.on())
    state[kBase] = Json{{kPath, inputs_.base.path}, {kFingerprint, inputs_.base.fingerprint}};
  return state;
}

void Trainer::restore(const CheckpointFolder::Loaded& from) {
  if (!from.optimizer) {
    throw Error(ErrorKind::internal, "A run was resumed without its optimizer's state.");
  }
  const auto read_all = [&](const SafetensorsFile& file, const std::vector<NamedTensor>& targets) {
    for (const auto& [name, tensor] : targets)
      memory_.put(tensor, file.find(name, tensor.dtype, tensor.shape).byte_span());
  };
  check_base(from);
  check_kinds(from);
  state_ = train_state_from_json(*from.state, (from.path / "state.json").string());
  read_all(from.weights, named_weights());
  read_all(*from.optimizer, named_optimizer());
  loader_->restore(state_.loader);
  saved_step_ = state_.step;
  if (from.validation_loss) {
    evaluated_step_ = state_.step;
    state_.validation_loss = *from.validation_loss;
    consider_best(state_.step, *from.validation_loss);
  }
}

std::vector<NamedTensor> Trainer::named_weights() const {
  const ParameterList& table = memory_.parameters();
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < table.all().size(); ++i)
    tensors.push_back({table.all()[i].name, table.view(memory_.weights, static_cast<int>(i))});
  return tensors;
}

std::vector<NamedTensor> Trainer::named_optimizer() const {
  const ParameterList& table = memory_.parameters();
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

void Trainer::save(TrainObserver& observer, bool required) {
  settle(observer, false);
  // Overflowed weights would replace good checkpoints by useless ones.
  if (!std::isfinite(backend_.sum_of_squares(memory_.weights))) {
    throw_non_finite("sum of the model's weights", state_.step);
  }
  since_save_ = Stopwatch();
  const std::vector<NamedTensor> weights = named_weights();
  const std::vector<NamedTensor> optimizer = named_optimizer();
  const Retention kept{.newest = static_cast<int>(inputs_.train.kept_checkpoints),
                       .latest = state_.step,
                       .best = state_.best_step,
                       .interval = inputs_.train.kept_interval};
  saving_step_ = state_.step;
  saving_loss_.reset();
  if (evaluated_step_ == state_.step) saving_loss_ = state_.validation_loss;
  try {
    saver_.start({.step = state_.step,
                  .weights = weights,
                  .optimizer = optimizer,
                  .state = state_to_json(),
                  .read =
                      [&](const NamedTensor& entry, std::int64_t first, std::span<std::byte> to) {
                        const auto count =
                            static_cast<std::int64_t>(to.size()) / size_of(entry.tensor.dtype);
                        const Tensor flat = entry.tensor.reshaped({entry.tensor.elements()});
                        memory_.get(flat.slice_rows(first, count), to);
                      }},
                 kept);
  } catch (const Error& error) {
    handle_failed_save(error, observer, required);
  }
}

void Trainer::settle(TrainObserver& observer, bool required) {
  if (!saver_.saving()) return;
  SavedCheckpoint saved{.step = saving_step_, .path = {}, .validation_loss = saving_loss_};
  try {
    saved.path = saver_.finish();
    saved_step_ = saving_step_;
    if (saving_loss_) saved.best = enter_loss(saving_step_, *saving_loss_);
  } catch (const Error& error) {
    handle_failed_save(error, observer, required);
    return;
  }
  observer.on_checkpoint(saved);
  tell_of_room(observer);
}

void Trainer::handle_failed_save(const Error& error, TrainObserver& observer, bool required) const {
  if (required) throw;
  observer.on_checkpoint_failed(saving_step_, error.message());
}

bool Trainer::enter_loss(std::int64_t step, double loss) {
  try {
    saver_.folder().note_validation(step, loss);
  } catch (const Error&) {
    return false;  // What is gone, or cannot be written to, is not the best there is.
  }
  return consider_best(step, loss);
}

bool Trainer::consider_best(std::int64_t step, double loss) {
  if (state_.best_step && state_.best_loss <= loss) return false;
  state_.best_step = step;
  state_.best_loss = loss;
  return true;
}

void Trainer::tell_of_room(TrainObserver& observer) {
  try {
    saver_.folder().check_room(plan_.checkpoint_bytes);
    told_disk_low_ = false;
  } catch (const Error& error) {
    if (!told_disk_low_) observer.on_disk_low(error.message());
    told_disk_low_ = true;
  }
}

}  // namespace athanor
