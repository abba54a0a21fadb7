// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The settings of a run to be: preset, data, batch, rate, and the rest folded.

#include <QScrollArea>
#include <QVector>
#include <array>

#include "engine/session/run_spec.h"
#include "gui/pages/spec_fields.h"

class QComboBox;
class QSlider;
class QLineEdit;
class QVBoxLayout;

namespace athanor {

class Collapsible;
class FormRow;
class NumberLabel;

class PlanForm : public QScrollArea {
  Q_OBJECT
 public:
  explicit PlanForm(QWidget* parent = nullptr);

  /// What the fields say; where one is refused, its last good value.
  RunSpec spec() const;
  /// Tells edited() once.
  void setSpec(const RunSpec& spec);
  void setPreset(int index);
  /// As spec() gave it, with the name and the text, which setSpec() leaves to the user.
  void restore(const RunSpec& spec);
  /// Changes how the run is trained, and nothing else.
  void setTraining(const TrainConfig& train);
  void setDataFile(const QString& path);  ///< empty: the built-in stories

  /// A field is refused, or the data file is not there.
  bool hasProblem() const;
  /// Shows the engine's message at the field it names; false when it names none of them.
  bool showProblem(const QString& message);
  void clearProblem();

  qint64 reserve_bytes() const;
  void setReserve(qint64 bytes);
  /// The engine's message with the labels of the fields in place of their names.
  static QString inWords(const QString& message);

 signals:
  void edited();
  void reserveChanged(qint64 bytes);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  struct Bound {
    SpecField field;
    NumberField* input = nullptr;
  };
  struct BoundChoice {
    SpecChoice choice;
    QComboBox* input = nullptr;
  };

  void addIdentity(QVBoxLayout* layout);
  FormRow* addRow(QVBoxLayout* layout, const QString& label, QWidget* field, const QString& help);
  void addNumbers(QVBoxLayout* layout, FieldGroup group);
  Collapsible* addGroup(QVBoxLayout* layout, const QString& title, FieldGroup group);
  void addChoices(QVBoxLayout* layout, FieldGroup group);
  void addReserve(QVBoxLayout* layout);
  void chooseData(int index);
  void fillData();
  void checkData();
  void updateName();
  void updateSummaries();
  void tellEdited();

  RunSpec m_base;  ///< keeps what the form does not show
  QString m_dataFile;
  bool m_nameTyped = false;
  QString m_dataProblem;
  QLineEdit* m_name;
  QComboBox* m_preset;
  QComboBox* m_data;
  QSlider* m_reserve;  ///< in steps of kReserveStep_bytes
  NumberLabel* m_reserveText;
  FormRow* m_presetRow = nullptr;
  FormRow* m_dataRow = nullptr;
  QVector<Bound> m_numbers;
  QVector<BoundChoice> m_choices;
  std::array<Collapsible*, 4> m_groups{};  ///< memory, shape, regularisation, saving
};

}  // namespace athanor
