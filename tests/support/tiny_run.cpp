// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tiny_run.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/backend/registry.h"
#include "engine/base/philox.h"
#include "engine/data/documents.h"
#include "engine/data/token_shard.h"

namespace athanor {

std::string tiny_text(std::int64_t bytes) {
  constexpr std::array<const char*, 6> who = {"The miller", "Anna",      "A grey cat",
                                              "The baker",  "Old Peter", "The girl"};
  constexpr std::array<const char*, 6> did = {"found", "lost", "carried", "painted", "sold", "hid"};
  constexpr std::array<const char*, 6> what = {"a red boat", "the key",    "some bread",
                                               "a lantern",  "two apples", "the old map"};
  constexpr std::array<const char*, 4> where = {"by the river", "at the mill", "in the garden",
                                                "near the school"};
  const Philox random(7, 0);
  std::uint64_t index = 0;
  const auto pick = [&](const auto& from) { return from[random.word(index++) % from.size()]; };
  std::string text;
  while (static_cast<std::int64_t>(text.size()) < bytes) {
    text += std::string(pick(who)) + " " + pick(did) + " " + pick(what) + " " + pick(where) + ".";
    text += index % 5 == 0 ? "\n<|endoftext|>\n" : " ";
  }
  return text;
}

namespace {

/// Writes the documents of `text` as tokens: those that end in its first nine tenths to train on,
/// the others to validate with. Returns the bytes of these.
std::int64_t write_shards(const std::string& text, const Tokenizer& tokenizer,
                          const std::filesystem::path& folder) {
  TokenShardWriter train(folder / "train.tokens", tokenizer.vocabulary_size(),
                         tokenizer.fingerprint());
  TokenShardWriter validation(folder / "validation.tokens", tokenizer.vocabulary_size(),
                              tokenizer.fingerprint());
  const auto limit = static_cast<std::size_t>(std::llround(0.9 * static_cast<double>(text.size())));
  std::int64_t validation_bytes = 0;
  DocumentWalker walker(text);
  for (std::string_view document; walker.next(document);) {
    std::vector<std::int32_t> ids = tokenizer.encode(document);
    ids.push_back(tokenizer.end_of_text());
    const auto end = static_cast<std::size_t>(document.data() + document.size() - text.data());
    const bool held_out = end > limit;
    (held_out ? validation : train).add_document(ids);
    if (held_out) validation_bytes += static_cast<std::int64_t>(document.size());
  }
  train.finish();
  validation.finish();
  return validation_bytes;
}

}  // namespace

TinyData::TinyData()
    : tokenizer(train_tokenizer(tiny_text(40'000), 300, CancelToken())),
      train([this] {
        const std::filesystem::path place = folder.path().toStdString();
        validation_bytes = write_shards(tiny_text(40'000), tokenizer, place);
        return TokenShard::open(place / "train.tokens");
      }()),
      validation(TokenShard::open(folder.filePath("validation.tokens").toStdString())) {}

Trainer::Inputs TinyData::inputs(const ModelConfig& model, const TrainConfig& config,
                                 const std::string& checkpoints) const {
  return {.model = model,
          .train = config,
          .train_tokens = train,
          .validation_tokens = validation,
          .end_of_text = tokenizer.end_of_text(),
          .validation_bytes = validation_bytes,
          .checkpoints = folder.filePath(QString::fromStdString(checkpoints)).toStdString()};
}

ModelConfig tiny_model() {
  return {.vocabulary = 300,
          .layers = 2,
          .width = 32,
          .heads = 4,
          .kv_heads = 2,
          .ffn = 64,
          .context = 32};
}

TrainConfig tiny_train(std::int64_t steps) {
  return {.steps = steps,
          .micro_batch = 4,
          .learning_rate = 3e-3,
          .evaluation_interval = 10,
          .evaluation_tokens = 512,
          .checkpoint_interval = 10};
}

std::unique_ptr<Backend> best_backend(int threads) {
  return make_backend({.threads = threads});
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.byte_span(), b.byte_span());
}

std::vector<double> losses_of(Trainer& trainer, std::int64_t stop_at) {
  TrainControl control;
  StoppingRecorder recorder(control, stop_at);
  trainer.run(control, recorder);
  std::vector<double> losses;
  for (const StepMetrics& step : recorder.steps)
    losses.push_back(step.loss);
  return losses;
}

std::vector<double> tiny_curve(Backend& backend, std::int64_t steps) {
  const TinyData data;
  TrainConfig config = tiny_train(steps);
  config.gradient_accumulation = 2;
  config.evaluation_interval = 0;
  config.checkpoint_interval = 0;
  ModelConfig model = tiny_model();
  model.qk_norm = true;
  model.dropout = 0.1;
  Trainer trainer(data.inputs(model, config), backend);
  return losses_of(trainer);
}

}  // namespace athanor
