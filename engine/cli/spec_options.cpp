// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/spec_options.h"

#include <array>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/exchange/open_tokenizer.h"

namespace athanor {

namespace {

constexpr std::array kSettings = {
    SettingOption{"--steps", "train", "steps", "Steps to train"},
    SettingOption{"--batch", "train", "micro_batch", "Sequences at a time"},
    SettingOption{"--accumulation", "train", "gradient_accumulation", "Batches per step"},
    SettingOption{"--lr", "train", "learning_rate", "The learning rate at its highest"},
    SettingOption{"--schedule", "train", "schedule",
                  "one_cycle, cosine, linear, warmup_stable_decay or constant"},
    SettingOption{"--warmup", "train", "warmup_fraction", "The part of the steps that warms up"},
    SettingOption{"--optimizer", "train", "optimizer",
                  "adamw, or muon for the layers' matrices, with half the memory for moments"},
    SettingOption{"--muon-momentum", "train", "muon_momentum",
                  "The part of past gradients that Muon keeps"},
    SettingOption{"--weight-decay", "train", "weight_decay", "Weight decay of matrices"},
    SettingOption{"--clip", "train", "clip_norm", "Largest gradient norm; 0: not clipped"},
    SettingOption{"--seed", "train", "seed", "Determines everything random"},
    SettingOption{"--eval-every", "train", "evaluation_interval",
                  "Steps between measurements of the validation loss; 0: only at the end"},
    SettingOption{"--save-every", "train", "checkpoint_interval",
                  "Steps between checkpoints; 0: only at the end"},
    SettingOption{"--save-minutes", "train", "checkpoint_minutes",
                  "Minutes after which a checkpoint is saved at the latest; 0: only by steps"},
    SettingOption{"--save-before-eval", "train", "checkpoint_before_evaluation",
                  "Save before each measurement of the validation loss", true},
    SettingOption{"--keep", "train", "kept_checkpoints", "Checkpoints kept besides the best"},
    SettingOption{"--keep-every", "train", "kept_interval",
                  "Steps whose multiples' checkpoints are never removed; 0: none"},
    SettingOption{"--context", "model", "context", "Tokens the model sees at once"},
    SettingOption{"--vocabulary", "model", "vocabulary", "Different tokens"},
    SettingOption{"--layers", "model", "layers", "Layers"},
    SettingOption{"--width", "model", "width", "Width of the layers"},
    SettingOption{"--heads", "model", "heads", "Attention heads"},
    SettingOption{"--kv-heads", "model", "kv_heads", "Heads of keys and values"},
    SettingOption{"--ffn", "model", "ffn", "Width of the MLP's inner layer"},
    SettingOption{"--dropout", "model", "dropout", "Dropout while training"},
    SettingOption{
        "--recompute", "train", "recompute_level",
        "0 keeps all activations … 6 keeps a layer's input and makes the rest again; 7 puts "
        "that in a file"},
    SettingOption{"--recompute-further", "train", "recompute_further_layers",
                  "Layers, from the first, that recompute one level more"},
    SettingOption{"--head-chunk", "train", "head_chunk_tokens",
                  "Tokens whose logits exist at a time"},
    SettingOption{"--moments", "train", "moments",
                  "f32 or 8bit: what AdamW remembers; 8bit is smaller, and rounded"},
    SettingOption{"--weights", "train", "weights",
                  "f32, bf16_master, bf16_split or bf16_stochastic: what weights are kept as"},
    SettingOption{"--gradients", "train", "gradients",
                  "f32 or bf16, which is smaller, and rounded"},
    SettingOption{"--activations", "train", "activations",
                  "f32 or bf16, which is smaller, and rounded"},
    SettingOption{"--products", "train", "products",
                  "as_stored or fp8: what blocks multiply in; fp8 is about twice as fast for large "
                  "models on cards that have it, and rounds"},
    SettingOption{"--offload-moments", "train", "offload_moments",
                  "Keep what the optimizer remembers in a file: less memory, slower", true},
    SettingOption{"--offload-master", "train", "offload_master",
                  "Keep what BF16 weights are rounded from in a file", true},
    SettingOption{"--offload-gradients", "train", "offload_gradients",
                  "Keep gradients in a file between micro-batches", true},
    SettingOption{"--lora-rank", "train", "lora_rank",
                  "Above 0: adapters of this rank are trained beside frozen weights"},
    SettingOption{"--lora-targets", "train", "lora_targets",
                  "The matrices with adapters: some of q,k,v,o,gate,up,down"},
    SettingOption{"--lora-base", "train", "lora_base",
                  "f32, bf16, q8_0 or q4_0: what frozen weights are kept as"},
    SettingOption{"--held-out", "data", "validation_fraction",
                  "The part of the text kept for validation"},
    SettingOption{"--bad-records", "data", "bad_records",
                  "skip or fail: what to do with records that are not valid"},
    SettingOption{"--invalid-utf8", "data", "invalid_utf8",
                  "replace, keep or fail: what to do with bytes that are not UTF-8"},
    SettingOption{"--duplicates", "data", "duplicates",
                  "keep, remove_exact or remove_near: documents that were there before"},
    SettingOption{"--similarity", "data", "similarity",
                  "How alike documents are that remove_near takes for the same, 0.5 to 1"},
    SettingOption{"--tokenizer-pattern", "data", "tokenizer_pattern",
                  "How a tiktoken file cuts text: gpt2, cl100k, o200k, llama3 …"},
};

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::invalid_argument, sentence);
}

}  // namespace

SpecOptions::SpecOptions() : settings_(kSettings) {}

void SpecOptions::add_to(CLI::App& command) {
  const auto add = [&](const char* flag, std::string& text, const char* kind, const char* help) {
    return command.add_option(flag, text, help)->type_name(kind);
  };
  preset_given_ = add("--preset", preset_, "ID", "A preset to train; see presets");
  spec_given_ = add("--spec", spec_file_, "FILE", "Run settings, as JSON");
  sources_.add_to(command, "--data",
                  "A text, a file of records, a folder or a pattern, or several; "
                  "without it the built-in stories");
  tokenizer_given_ = add("--tokenizer", tokenizer_, "PATH",
                         "A tokenizer's file or folder; without it one is trained on the text");
  name_given_ = add("--name", name_, "TEXT", "The run's name");
  settings_.add_to(command);
}

RunSpec SpecOptions::base_spec(const GlobalOptions& global) const {
  const bool from_preset = preset_given_->count() > 0;
  const bool from_file = spec_given_->count() > 0;
  if (from_preset && from_file) {
    refuse("--spec and --preset both say what to train. Use one of them.");
  }
  if (from_file) {
    if (spec_file_.empty()) refuse("--spec must name a file of run settings (JSON).");
    RunSpec spec = run_spec_from_json(read_json_file(spec_file_), spec_file_);
    if (spec.name.empty()) spec.name = std::filesystem::path(spec_file_).stem().string();
    return spec;
  }
  if (!from_preset) {
    refuse("Say what to train: --preset ID or --spec FILE. See the presets with: " +
           global.command("presets"));
  }
  try {
    const Preset& chosen = preset(preset_);
    RunSpec spec = chosen.spec;
    if (spec.name.empty()) spec.name = chosen.title;
    return spec;
  } catch (const Error& error) {
    refuse("--preset: " + error.message());
  }
}

RunSpec SpecOptions::spec(const GlobalOptions& global) const {
  RunSpec spec = base_spec(global);
  if (name_given_->count() > 0) {
    if (name_.empty()) refuse("--name must not be empty; leave it out for the usual name.");
    spec.name = name_;
  }
  check_utf8("--name", spec.name);
  sources_.apply(spec.sources);
  spec.data = settings_.applied(spec.data, "data");
  spec.model = settings_.applied(spec.model, "model");
  if (tokenizer_given_->count() > 0) set_tokenizer(spec);
  spec.train = settings_.applied(spec.train, "train");
  return spec;
}

void SpecOptions::set_tokenizer(RunSpec& spec) const {
  if (tokenizer_.empty()) {
    refuse("--tokenizer must name a file or folder; leave it out to have one trained on the text.");
  }
  check_utf8("--tokenizer", tokenizer_);
  spec.data.tokenizer = std::filesystem::absolute(tokenizer_).lexically_normal().string();
  if (settings_.was_typed("--vocabulary")) return;
  const Tokenizer tokenizer = open_tokenizer(spec.data.tokenizer, spec.data.tokenizer_pattern);
  spec.model.vocabulary = padded_vocabulary(tokenizer);
}

std::string SpecOptions::in_terms_of_options(const std::string& message) const {
  return settings_.in_terms_of_options(message);
}

}  // namespace athanor
