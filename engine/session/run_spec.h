// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "engine/base/json_fwd.h"
#include "engine/data/corpus_source.h"
#include "engine/model/model_config.h"
#include "engine/session/adapter_base.h"
#include "engine/session/fine_tuning.h"
#include "engine/train/train_config.h"

namespace athanor {

struct DataConfig {
  CorpusOptions corpus;  ///< fields of the same object
  /// A tokenizer's file or folder (see open_tokenizer); empty: one is trained on the text.
  std::string tokenizer;
  std::string tokenizer_pattern;  ///< of a tiktoken file that does not say it by its size
  /// Of the documents, those kept for validation; which ones follows from their content.
  double validation_fraction = 0.05;
};

template <class Visitor>
void visit_fields(DataConfig& config, Visitor& visitor) {
  visit_fields(config.corpus, visitor);
  visitor("tokenizer", config.tokenizer);
  visitor("tokenizer_pattern", config.tokenizer_pattern);
  visitor("validation_fraction", config.validation_fraction, Bounds{0.001, 0.5});
}

/// Everything that determines a run, together with the data's content: a value, kept with the run
/// as JSON {"format": 1, "name", "preset", "imported_from", "sources": [{…}], "data": {…}, "model":
/// {…}, "train": {…}, "base": {…}}. Specs from before there were sources name one text in
/// "data": {"file"}.
struct RunSpec {
  std::string name;
  std::string preset;  ///< what it was made from; of no effect
  /// The other program's file that the model is from; empty: it is trained here. Such a run has one
  /// checkpoint, of step 0, and nothing to go on training with.
  std::string imported_from;
  std::vector<CorpusSource> sources;  ///< none: the built-in stories
  StartPoint start;                   ///< "start" in the JSON, like the next only where it is used
  FineTuning fine_tuning;             ///< with it there is no `data`
  DataConfig data;
  ModelConfig model;
  TrainConfig train;
  AdapterBase base;  ///< of adapters, with TrainConfig::lora
};

/// Errors name `place` (a file) and the field.
RunSpec run_spec_from_json(const Json& json, const std::string& place);
Json run_spec_to_json(const RunSpec& spec);
/// Throws invalid_argument for the first field that cannot be used.
void check_run_spec(const RunSpec& spec);

/// A model shape with training settings that suit it, shipped with the program.
struct Preset {
  std::string id;           ///< "nano"
  std::string title;        ///< "Nano"
  std::string description;  ///< one sentence
  RunSpec spec;
};

/// In the order in which they are offered, from small to large. The first is the demo.
const std::vector<Preset>& presets();
/// Throws not_found naming the known ones.
const Preset& preset(const std::string& id);

}  // namespace athanor
