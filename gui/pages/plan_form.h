// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The settings of a run to be: preset, data, batch, rate, and the rest folded.

#include <QScrollArea>
#include <QVector>
#include <array>
#include <optional>
#include <vector>

#include "engine/planner/cards.h"
#include "engine/session/run_spec.h"
#include "gui/pages/spec_fields.h"

class QComboBox;
class QSlider;
class QLineEdit;
class QVBoxLayout;

namespace athanor {

class Collapsible;
class DataChoice;
struct Estimate;
class FormRow;
class NumberLabel;

class PlanForm : public QScrollArea {
  Q_OBJECT
 public:
  /// Takes `device`, the row that says what is trained on.
  explicit PlanForm(FormRow* device, QWidget* parent = nullptr);

  /// What the fields say; where one is refused, its last good value.
  RunSpec spec() const;
  /// Tells edited() once.
  void setSpec(const RunSpec& spec);
  void setPreset(int index);
  /// As spec() gave it, with the name and the text, which setSpec() leaves to the user.
  void restore(const RunSpec& spec);
  /// Changes how the run is trained, and nothing else.
  void setTraining(const TrainConfig& train);
  /// One text or folder; empty: the built-in stories.
  void setDataFile(const QString& path);
  /// The sources of `spec`, what becomes of them, its tokenizer and vocabulary.
  void setData(const RunSpec& spec);

  /// A field is refused, or data or tokenizer cannot be used.
  bool hasProblem() const;
  /// Shows the engine's message at the field it names; false when it names none of them.
  bool showProblem(const QString& message);
  void clearProblem();

  /// What each choice about memory would change, shown with its item: of `estimate`, which is of
  /// the form as it is.
  void showCosts(const Estimate& estimate);

  /// Cards that a run can be planned for beside this computer; a note says why some are not there.
  void setCards(const std::vector<GraphicsCard>& cards, const QString& note);
  /// The one that is planned for; none: this computer.
  std::optional<GraphicsCard> card() const;

  qint64 reserve_bytes() const;
  void setReserve(qint64 bytes);

 signals:
  void edited();
  void reserveChanged(qint64 bytes);
  void cardChanged();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  struct Bound {
    SpecField field;
    NumberField* input = nullptr;
    FormRow* row = nullptr;
  };
  struct BoundChoice {
    SpecChoice choice;
    QComboBox* input = nullptr;
  };

  void addIdentity(QVBoxLayout* layout, FormRow* device);
  FormRow* addRow(QVBoxLayout* layout, const QString& label, QWidget* field, const QString& help);
  void addNumbers(QVBoxLayout* layout, FieldGroup group);
  Collapsible* addGroup(QVBoxLayout* layout, const QString& title, FieldGroup group);
  void addChoices(QVBoxLayout* layout, FieldGroup group);
  void addReserve(QVBoxLayout* layout);
  Bound& number(const char* path);
  /// What a tokenizer that is there asks of the vocabulary. `always`: the field takes it over even
  /// where it has room.
  void takeVocabulary(bool always);
  void updateName();
  void updateSummaries();
  void tellEdited();

  RunSpec m_base;  ///< keeps what the form does not show
  bool m_nameTyped = false;
  QLineEdit* m_name;
  QComboBox* m_preset;
  DataChoice* m_data;
  QComboBox* m_machine;
  std::vector<GraphicsCard> m_cards;  ///< in the order of m_machine, after this computer
  QSlider* m_reserve;                 ///< in steps of kReserveStep_bytes
  NumberLabel* m_reserveText;
  FormRow* m_presetRow = nullptr;
  FormRow* m_machineRow = nullptr;
  QVector<Bound> m_numbers;
  QVector<BoundChoice> m_choices;
  std::array<Collapsible*, 4> m_groups{};  ///< memory, shape, regularisation, saving
};

}  // namespace athanor
