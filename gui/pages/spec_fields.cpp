// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/spec_fields.h"

#include <QCoreApplication>
#include <QHash>
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
SpecField field(const char* path, const QString& label, FieldGroup group, const QString& unit = {},
                NumberKind kind = NumberKind::integer) {
  return {.path = path,
          .label = label,
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

QVector<SpecField> trainingFields() {
  constexpr auto kModel = &RunSpec::model;
  constexpr auto kTrain = &RunSpec::train;
  constexpr auto kGroup = FieldGroup::training;
  return {
      field<kModel, &ModelConfig::context>("model.context", text("Context"), kGroup,
                                           text("tokens")),
      field<kTrain, &TrainConfig::micro_batch>("train.micro_batch", text("Micro-batch"), kGroup,
                                               text("sequences")),
      field<kTrain, &TrainConfig::gradient_accumulation>(
          "train.gradient_accumulation", text("Accumulation"), kGroup, text("micro-batches")),
      field<kTrain, &TrainConfig::steps>("train.steps", text("Train for"), kGroup, text("steps")),
      field<kTrain, &TrainConfig::learning_rate>("train.learning_rate", text("Learning rate"),
                                                 kGroup, {}, NumberKind::scientific),
  };
}

QVector<SpecField> shapeFields() {
  constexpr auto kModel = &RunSpec::model;
  constexpr auto kGroup = FieldGroup::shape;
  return {
      field<kModel, &ModelConfig::layers>("model.layers", text("Layers"), kGroup),
      field<kModel, &ModelConfig::width>("model.width", text("Width"), kGroup),
      field<kModel, &ModelConfig::heads>("model.heads", text("Heads"), kGroup),
      field<kModel, &ModelConfig::kv_heads>("model.kv_heads", text("Key-value heads"), kGroup),
      field<kModel, &ModelConfig::ffn>("model.ffn", text("MLP width"), kGroup),
      field<kModel, &ModelConfig::vocabulary>("model.vocabulary", text("Vocabulary"), kGroup,
                                              text("tokens")),
  };
}

QVector<SpecField> otherFields() {
  constexpr auto kModel = &RunSpec::model;
  constexpr auto kTrain = &RunSpec::train;
  constexpr auto kGroup = FieldGroup::regularisation;
  constexpr auto kReal = NumberKind::real;
  return {
      field<kModel, &ModelConfig::dropout>("model.dropout", text("Dropout"), kGroup, {}, kReal),
      field<kTrain, &TrainConfig::weight_decay>("train.weight_decay", text("Weight decay"), kGroup,
                                                {}, kReal),
      field<kTrain, &TrainConfig::clip_norm>("train.clip_norm", text("Clip norm"), kGroup, {},
                                             kReal),
      field<kTrain, &TrainConfig::seed>("train.seed", text("Seed"), kGroup),
      field<kTrain, &TrainConfig::evaluation_interval>(
          "train.evaluation_interval", text("Evaluate every"), FieldGroup::saving, text("steps")),
      field<kTrain, &TrainConfig::checkpoint_interval>(
          "train.checkpoint_interval", text("Save every"), FieldGroup::saving, text("steps")),
      field<kTrain, &TrainConfig::kept_checkpoints>("train.kept_checkpoints", text("Keep"),
                                                    FieldGroup::saving, text("newest")),
  };
}

}  // namespace

QVector<SpecField> specFields() {
  const QHash<QString, Bounds> bounds = engineBounds();
  QVector<SpecField> fields = trainingFields() + shapeFields() + otherFields();
  for (SpecField& field : fields)
    field.bounds = bounds.value(field.path);
  return fields;
}

}  // namespace athanor
