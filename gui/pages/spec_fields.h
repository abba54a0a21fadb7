// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The numbers and choices of a run spec as the plan form shows them.

#include <QString>
#include <QStringList>
#include <QVector>

#include "engine/session/run_spec.h"
#include "widgets/number_field.h"

namespace athanor {

/// Where a number stands in the form.
enum class FieldGroup { data, training, memory, shape, regularisation, saving };

struct SpecField {
  QString path;  ///< "train.steps", as the engine's messages name it
  QString label;
  QString help;  ///< one sentence; the user guide lists the same
  QString unit;
  FieldGroup group = FieldGroup::training;
  NumberKind kind = NumberKind::integer;
  double (*get)(const RunSpec&) = nullptr;
  void (*set)(RunSpec&, double) = nullptr;
  Bounds bounds = {};  ///< the engine's own
};

/// One of a few, in the order of the engine's names.
struct SpecChoice {
  QString path;
  QString label;
  QString help;
  QStringList items;
  FieldGroup group = FieldGroup::training;
  double (*get)(const RunSpec&) = nullptr;
  void (*set)(RunSpec&, double) = nullptr;
};

/// In the order of the form.
QVector<SpecField> specFields();
QVector<SpecChoice> specChoices();

/// The engine's message with the labels of the fields in place of their names.
QString inWords(const QString& message);

/// `spec` with each item of each choice about memory, in their order; of other choices none.
std::vector<RunSpec> memoryAlternatives(const RunSpec& spec);

}  // namespace athanor
