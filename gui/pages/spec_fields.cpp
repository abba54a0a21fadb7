// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/spec_fields.h"

#include <QCoreApplication>
#include <QHash>
#include <algorithm>
#include <type_traits>

namespace athanor {
namespace {

/// Learns the bounds that the engine checks, so that the form refuses the same values.
class BoundsCollector {
 public:
  explicit BoundsCollector(QString place) : m_place(std::move(place)) {}

  template <class T>
  void operator()(const char* name, T&, Bounds bounds = {}) {
    m_bounds.insert(m_place + "." + name, bounds);
  }
  const QHash<QString, Bounds>& bounds() const { return m_bounds; }

 private:
  QString m_place;
  QHash<QString, Bounds> m_bounds;
};

QHash<QString, Bounds> engineBounds() {
  RunSpec spec;
  BoundsCollector model("model");
  BoundsCollector train("train");
  visit_fields(spec.model, model);
  visit_fields(spec.train, train);
  QHash<QString, Bounds> all = model.bounds();
  all.insert(train.bounds());
  return all;
}

template <auto Part, auto Member>
double getMember(const RunSpec& spec) {
  return static_cast<double>(spec.*Part.*Member);
}

template <auto Part, auto Member>
void setMember(RunSpec& spec, double value) {
  auto& member = spec.*Part.*Member;
  member = static_cast<std::remove_reference_t<decltype(member)>>(value);
}

template <auto Part, auto Member>
SpecField field(const char* path, const QString& label, const QString& help, FieldGroup group,
                const QString& unit = {}, NumberKind kind = NumberKind::integer) {
  return {.path = path,
          .label = label,
          .help = help,
          .unit = unit,
          .group = group,
          .kind = kind,
          .get = &getMember<Part, Member>,
          .set = &setMember<Part, Member>,
          .bounds = {}};
}

QString text(const char* source) {
  return QCoreApplication::translate("PlanForm", source);
}

QVector<SpecField> dataFields() {
  return {field<&RunSpec::model, &ModelConfig::vocabulary>(
      "model.vocabulary", text("Vocabulary"),
      text("Different word pieces, learnt from the text unless there is a tokenizer; more make the "
           "model larger"),
      FieldGroup::data, text("tokens"))};
}

QVector<SpecField> trainingFields() {
  constexpr auto kModel = &RunSpec::model;
  constexpr auto kTrain = &RunSpec::train;
  constexpr auto kGroup = FieldGroup::training;
  return {
      field<kModel, &ModelConfig::context>(
          "model.context", text("Context"),
          text("Tokens the model sees at once; attention's cost grows with it"), kGroup,
          text("tokens")),
      field<kTrain, &TrainConfig::micro_batch>(
          "train.micro_batch", text("Micro-batch"),
          text("Sequences at a time; most of the memory follows from it"), kGroup,
          text("sequences")),
      field<kTrain, &TrainConfig::gradient_accumulation>(
          "train.gradient_accumulation", text("Accumulation"),
          text("Micro-batches per step: a larger batch in the same memory"), kGroup,
          text("micro-batches")),
      field<kTrain, &TrainConfig::steps>("train.steps", text("Train for"),
                                         text("How often the weights are changed"), kGroup,
                                         text("steps")),
      field<kTrain, &TrainConfig::learning_rate>(
          "train.learning_rate", text("Learning rate"),
          text("Its highest value; when the loss explodes, try a tenth of it"), kGroup, {},
          NumberKind::scientific),
  };
}

QVector<SpecField> memoryFields() {
  constexpr auto kTrain = &RunSpec::train;
  constexpr auto kGroup = FieldGroup::memory;
  return {
      field<kTrain, &TrainConfig::recompute_level>(
          "train.recompute_level", text("Recompute"),
          text("0 keeps all that a layer computes; each level keeps less and computes it again, up "
               "to 6, which keeps only what comes in, and 7, which keeps that in a file; the model "
               "is the same"),
          kGroup, text("level")),
      field<kTrain, &TrainConfig::recompute_further_layers>(
          "train.recompute_further_layers", text("One level more"),
          text("Layers, from the first, that recompute one level more than the others"), kGroup,
          text("layers")),
      field<kTrain, &TrainConfig::head_chunk_tokens>(
          "train.head_chunk_tokens", text("Head chunk"),
          text("Tokens whose scores over the whole vocabulary exist at a time"), kGroup,
          text("tokens")),
  };
}

template <auto Part, auto Member>
SpecChoice choice(const char* path, const QString& label, const QString& help,
                  const QStringList& items, FieldGroup group) {
  return {.path = path,
          .label = label,
          .help = help,
          .items = items,
          .group = group,
          .get = &getMember<Part, Member>,
          .set = &setMember<Part, Member>};
}

QVector<SpecField> shapeFields() {
  constexpr auto kModel = &RunSpec::model;
  constexpr auto kGroup = FieldGroup::shape;
  return {
      field<kModel, &ModelConfig::layers>(
          "model.layers", text("Layers"),
          text("One after the other; more make the model more capable, and slower"), kGroup),
      field<kModel, &ModelConfig::width>(
          "model.width", text("Width"),
          text("Numbers that describe each token; more make the model more capable, and slower"),
          kGroup),
      field<kModel, &ModelConfig::heads>("model.heads", text("Heads"),
                                         text("Parts that look back at the text, each on its own; "
                                              "each gets an equal share of Width"),
                                         kGroup),
      field<kModel, &ModelConfig::kv_heads>(
          "model.kv_heads", text("Key-value heads"),
          text("Fewer save memory when chatting; must divide Heads"), kGroup),
      field<kModel, &ModelConfig::ffn>(
          "model.ffn", text("MLP width"),
          text("Width inside each layer; two to four times Width is usual"), kGroup),
  };
}

QVector<SpecField> otherFields() {
  constexpr auto kModel = &RunSpec::model;
  constexpr auto kTrain = &RunSpec::train;
  constexpr auto kGroup = FieldGroup::regularisation;
  constexpr auto kReal = NumberKind::real;
  return {
      field<kModel, &ModelConfig::dropout>(
          "model.dropout", text("Dropout"),
          text("Share switched off at random, against learning by heart; 0 is usual"), kGroup, {},
          kReal),
      field<kTrain, &TrainConfig::weight_decay>("train.weight_decay", text("Weight decay"),
                                                text("Keeps the weights small; 0.1 is usual"),
                                                kGroup, {}, kReal),
      field<kTrain, &TrainConfig::clip_norm>(
          "train.clip_norm", text("Clip norm"),
          text("Limits how much one step can change; 0: no limit"), kGroup, {}, kReal),
      field<kTrain, &TrainConfig::seed>(
          "train.seed", text("Seed"),
          text("Where the random numbers begin; the same seed and settings give the same model"),
          kGroup),
      field<kTrain, &TrainConfig::evaluation_interval>(
          "train.evaluation_interval", text("Validate every"),
          text("How often the validation loss is measured; 0: only at the end"), FieldGroup::saving,
          text("steps")),
      field<kTrain, &TrainConfig::checkpoint_interval>(
          "train.checkpoint_interval", text("Save every"),
          text("How often a checkpoint is written; 0: only at the end"), FieldGroup::saving,
          text("steps")),
      field<kTrain, &TrainConfig::kept_checkpoints>(
          "train.kept_checkpoints", text("Keep"),
          text("Newest checkpoints kept; the best is kept besides"), FieldGroup::saving,
          text("newest")),
      field<kTrain, &TrainConfig::checkpoint_minutes>(
          "train.checkpoint_minutes", text("Save at least every"),
          text("A power cut costs no more time than this; 0: only by steps"), FieldGroup::saving,
          text("minutes"), kReal),
      field<kTrain, &TrainConfig::kept_interval>(
          "train.kept_interval", text("Keep for good every"),
          text("Checkpoints at multiples of so many steps are never removed; 0: none"),
          FieldGroup::saving, text("steps")),
  };
}

}  // namespace

QVector<SpecChoice> specChoices() {
  constexpr auto kTrain = &RunSpec::train;
  constexpr auto kGroup = FieldGroup::memory;
  const QStringList precisions = {text("FP32"), text("BF16 (half the memory, rounds)")};
  const QStringList places = {text("In memory"), text("In a file (slower)")};
  return {
      choice<kTrain, &TrainConfig::schedule>(
          "train.schedule", text("Schedule"),
          text("How the learning rate moves: one cycle suits short runs, cosine long ones"),
          {text("One cycle"), text("Cosine"), text("Linear"), text("Warm-up, stable, decay"),
           text("Constant")},
          FieldGroup::training),
      choice<kTrain, &TrainConfig::checkpoint_before_evaluation>(
          "train.checkpoint_before_evaluation", text("Save before validating"),
          text("A checkpoint before each validation, for models whose validation takes long"),
          {text("No"), text("Yes")}, FieldGroup::saving),
      choice<kTrain, &TrainConfig::optimizer>(
          "train.optimizer", text("Optimizer"),
          text(
              "How gradients change the layers' matrices: Muon often learns faster, takes half the "
              "memory for moments and some more computing; all else is AdamW's"),
          {text("AdamW"), text("Muon")}, FieldGroup::training),
      choice<kTrain, &TrainConfig::activations>(
          "train.activations", text("Activations"),
          text("What layers compute, kept for the way back; BF16 has three digits, and a processor "
               "is slower with it"),
          precisions, kGroup),
      choice<kTrain, &TrainConfig::products>(
          "train.products", text("Block products"),
          text("What the large products of layers are made in; in FP8 they are about twice as fast "
               "on a card that has it and round more, which small models feel first"),
          {text("As activations"), text("FP8 (faster, rounds more)")}, kGroup),
      choice<kTrain, &TrainConfig::weights>(
          "train.weights", text("Weights"),
          text("In BF16 they need something beside them to learn small steps: an FP32 copy, its "
               "lower half, which is the same in less memory, or luck in rounding"),
          {text("FP32"), text("BF16 and an FP32 copy"), text("BF16 and its lower half"),
           text("BF16, rounded at random")},
          kGroup),
      choice<kTrain, &TrainConfig::gradients>(
          "train.gradients", text("Gradients"),
          text("The direction of the next step; BF16 loses some of what many micro-batches add up"),
          precisions, kGroup),
      choice<kTrain, &TrainConfig::moments>(
          "train.moments", text("Moments"),
          text("What the optimizer remembers of past gradients: 8-bit takes about a quarter of the "
               "memory for large matrices, and rounds"),
          {text("FP32"), text("8-bit (smaller, rounds the optimizer's memory)")}, kGroup),
      choice<kTrain, &TrainConfig::offload_moments>(
          "train.offload_moments", text("Moments are"),
          text("In a file of the run's folder, the optimizer's memory needs none here; the model "
               "is the same"),
          places, kGroup),
      choice<kTrain, &TrainConfig::offload_master>(
          "train.offload_master", text("Weights' copy is"),
          text("What BF16 weights have beside them can be in a file; the model is the same"),
          places, kGroup),
      choice<kTrain, &TrainConfig::offload_gradients>(
          "train.offload_gradients", text("Gradients are"),
          text("In a file they come and go layer by layer; the model is the same"), places, kGroup),
  };
}

std::vector<RunSpec> memoryAlternatives(const RunSpec& spec) {
  std::vector<RunSpec> alternatives;
  for (const SpecChoice& choice : specChoices()) {
    if (choice.group != FieldGroup::memory) continue;
    for (int item = 0; item < choice.items.size(); ++item) {
      alternatives.push_back(spec);
      choice.set(alternatives.back(), item);
    }
  }
  return alternatives;
}

QString inWords(const QString& message) {
  QVector<std::pair<QString, QString>> labels;
  for (const SpecField& field : specFields())
    labels.push_back({field.path, field.label});
  for (const SpecChoice& choice : specChoices())
    labels.push_back({choice.path, choice.label});
  // Longer names first, for one may begin like another.
  std::sort(labels.begin(), labels.end(),
            [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  QString words = message;
  for (const auto& [path, label] : labels)
    words.replace(path, label);
  return words;
}

QVector<SpecField> specFields() {
  const QHash<QString, Bounds> bounds = engineBounds();
  QVector<SpecField> fields =
      dataFields() + trainingFields() + memoryFields() + shapeFields() + otherFields();
  for (SpecField& field : fields)
    field.bounds = bounds.value(field.path);
  return fields;
}

}  // namespace athanor
