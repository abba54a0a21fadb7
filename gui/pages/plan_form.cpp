// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/plan_form.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMimeData>
#include <QSignalBlocker>
#include <QSlider>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/pages/choice_change.h"
#include "gui/pages/data_choice.h"
#include "gui/pages/tokenizer_choice.h"
#include "widgets/card.h"
#include "widgets/collapsible.h"
#include "widgets/form_row.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

constexpr qint64 kReserveStep_bytes = qint64{1} << 28;
constexpr int kMostReserve = 32;

}  // namespace

PlanForm::PlanForm(FormRow* device, QWidget* parent)
    : QScrollArea(parent),
      m_base(presets().front().spec),
      m_name(new QLineEdit),
      m_preset(new QComboBox),
      m_data(new DataChoice),
      m_machine(new QComboBox),
      m_reserve(new QSlider(Qt::Horizontal)),
      m_reserveText(new NumberLabel) {
  auto* card = new Card;
  QVBoxLayout* layout = card->content();
  layout->setSpacing(0);
  addIdentity(layout, device);
  addNumbers(layout, FieldGroup::training);
  addChoices(layout, FieldGroup::training);
  layout->addSpacing(12);
  m_groups = {addGroup(layout, tr("Memory"), FieldGroup::memory),
              addGroup(layout, tr("Model shape"), FieldGroup::shape),
              addGroup(layout, tr("Regularisation and seed"), FieldGroup::regularisation),
              addGroup(layout, tr("Saving and validation"), FieldGroup::saving)};
  addReserve(m_groups[0]->content());
  layout->addStretch(1);
  setWidget(card);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAcceptDrops(true);
  setSpec(m_base);
}

void PlanForm::addIdentity(QVBoxLayout* layout, FormRow* device) {
  for (const Preset& preset : presets()) {
    m_preset->addItem(QString::fromStdString(preset.title));
    m_preset->setItemData(m_preset->count() - 1, QString::fromStdString(preset.description),
                          Qt::ToolTipRole);
  }
  m_preset->setPlaceholderText(tr("Your own"));
  m_name->setMaxLength(200);
  m_name->setObjectName("name");
  connect(m_preset, &QComboBox::activated, this, &PlanForm::setPreset);
  connect(m_data, &DataChoice::edited, this, [this] {
    takeVocabulary(false);
    tellEdited();
  });
  connect(m_data->tokenizer(), &TokenizerChoice::answered, this, [this](bool chosen) {
    takeVocabulary(chosen);
    tellEdited();
  });
  connect(m_name, &QLineEdit::textEdited, this, [this] {
    m_nameTyped = true;
    tellEdited();
  });
  layout->addWidget(makeLabel(tr("Model and data"), FontRole::emphasis));
  layout->addSpacing(6);
  m_presetRow = addRow(layout, tr("Preset"), m_preset,
                       tr("A model shape with training settings that suit it"));
  layout->addWidget(m_data);
  addNumbers(layout, FieldGroup::data);
  addRow(layout, tr("Name"), m_name, tr("What the run is called"));
  layout->addWidget(device);
  m_machineRow = addRow(layout, tr("Plan for"), m_machine,
                        tr("Whose memory and speed count: this computer's, or a graphics card's by "
                           "its maker's figures, to see whether it would do"));
  m_machine->setObjectName("machine");
  m_machine->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  connect(m_machine, &QComboBox::activated, this, &PlanForm::cardChanged);
  setCards({}, {});
  layout->addSpacing(12);
  layout->addWidget(makeLabel(tr("Training"), FontRole::emphasis));
  layout->addSpacing(6);
}

FormRow* PlanForm::addRow(QVBoxLayout* layout, const QString& label, QWidget* field,
                          const QString& help) {
  auto* row = new FormRow(label, field);
  row->setHelp(help);
  layout->addWidget(row);
  return row;
}

void PlanForm::addNumbers(QVBoxLayout* layout, FieldGroup group) {
  for (const SpecField& field : specFields()) {
    if (field.group != group) continue;
    auto* input = new NumberField(field.kind);
    input->setRange(field.bounds.least, field.bounds.most);
    input->setUnit(field.unit);
    if (field.kind == NumberKind::real) input->setStep(0.05);
    input->setObjectName(field.path);
    connect(input, &NumberField::valueChanged, this, &PlanForm::tellEdited);
    connect(input, &NumberField::problemChanged, this, &PlanForm::edited);
    m_numbers.push_back({field, input, addRow(layout, field.label, input, field.help)});
  }
}

Collapsible* PlanForm::addGroup(QVBoxLayout* layout, const QString& title, FieldGroup group) {
  auto* folded = new Collapsible(title);
  addNumbers(folded->content(), group);
  addChoices(folded->content(), group);
  layout->addWidget(folded);
  return folded;
}

void PlanForm::addChoices(QVBoxLayout* layout, FieldGroup group) {
  for (const SpecChoice& choice : specChoices()) {
    if (choice.group != group) continue;
    auto* input = new QComboBox;
    input->addItems(choice.items);
    input->setObjectName(choice.path);
    // A long item is no reason for a wide form.
    input->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    input->view()->setTextElideMode(Qt::ElideNone);
    connect(input, &QComboBox::activated, this, &PlanForm::tellEdited);
    addRow(layout, choice.label, input, choice.help);
    m_choices.push_back({choice, input});
  }
}

void PlanForm::addReserve(QVBoxLayout* layout) {
  m_reserve->setRange(0, kMostReserve);
  auto* field = new QWidget;
  auto* row = new QHBoxLayout(field);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(m_reserve, 1);
  row->addWidget(m_reserveText);
  const QString help = tr("Memory that the plan leaves to the desktop and its programs");
  addRow(layout, tr("Desktop reserve"), field, help);
  m_reserve->setAccessibleName(tr("Desktop reserve"));
  m_reserve->setToolTip(help);
  connect(m_reserve, &QSlider::valueChanged, this, [this] {
    m_reserveText->setText(formatBytes(reserve_bytes()));
    emit reserveChanged(reserve_bytes());
  });
  m_reserveText->setText(formatBytes(0));
}

void PlanForm::showCosts(const Estimate& estimate) {
  for (const BoundChoice& made : m_choices)
    if (made.choice.path == "train.products") offerFp8(*made.input, estimate.fp8);
  if (!estimate.need) return;
  std::size_t at = 0;
  for (const BoundChoice& made : m_choices) {
    if (made.choice.group != FieldGroup::memory) continue;
    for (int item = 0; item < made.choice.items.size(); ++item, ++at) {
      if (at >= estimate.alternatives.size()) return;
      const QString change = changeOf(estimate.alternatives[at], estimate);
      const QString& name = made.choice.items[item];
      made.input->setItemText(item, change.isEmpty() ? name : tr("%1: %2").arg(name, change));
    }
  }
}

void PlanForm::setCards(const std::vector<GraphicsCard>& cards, const QString& note) {
  m_cards = cards;
  m_machine->clear();
  m_machine->addItem(tr("This computer"));
  for (const GraphicsCard& card : cards) {
    m_machine->addItem(
        tr("%1, %2").arg(QString::fromStdString(card.name), formatBytes(card.memory_bytes)));
  }
  m_machineRow->setNote(note);
}

std::optional<GraphicsCard> PlanForm::card() const {
  const int chosen = m_machine->currentIndex();
  if (chosen <= 0) return std::nullopt;
  return m_cards[static_cast<std::size_t>(chosen - 1)];
}

qint64 PlanForm::reserve_bytes() const {
  return m_reserve->value() * kReserveStep_bytes;
}

void PlanForm::setReserve(qint64 bytes) {
  m_reserve->setValue(static_cast<int>(std::min<qint64>(bytes / kReserveStep_bytes, kMostReserve)));
}

RunSpec PlanForm::spec() const {
  RunSpec spec = m_base;
  for (const Bound& number : m_numbers)
    number.field.set(spec, number.input->value());
  for (const BoundChoice& made : m_choices)
    made.choice.set(spec, made.input->currentIndex());
  m_data->fill(spec);
  spec.name = m_name->text().trimmed().toStdString();
  return spec;
}

void PlanForm::setSpec(const RunSpec& spec) {
  m_base = spec;
  {
    // One word of the whole change is enough.
    const QSignalBlocker quiet(this);
    for (const Bound& number : m_numbers) {
      number.input->setProblem({});
      number.input->setValue(number.field.get(spec));
    }
  }
  m_nameTyped = false;
  for (const BoundChoice& made : m_choices)
    made.input->setCurrentIndex(static_cast<int>(made.choice.get(spec)));
  const auto found =
      std::find_if(presets().begin(), presets().end(),
                   [&spec](const Preset& preset) { return preset.id == spec.preset; });
  m_preset->setCurrentIndex(found == presets().end() ? -1
                                                     : static_cast<int>(found - presets().begin()));
  m_presetRow->setNote(found == presets().end() ? QString()
                                                : QString::fromStdString(found->description));
  if (!spec.sources.empty()) m_data->showSources(spec);
  takeVocabulary(false);
  tellEdited();
}

void PlanForm::setTraining(const TrainConfig& train) {
  RunSpec changed = spec();
  changed.train = train;
  restore(changed);
}

void PlanForm::restore(const RunSpec& spec) {
  m_data->show(spec);
  setSpec(spec);
  const QString name = QString::fromStdString(spec.name);
  if (name == m_name->text()) return;
  m_nameTyped = true;
  m_name->setText(name);
}

void PlanForm::setPreset(int index) {
  if (index < 0) return;
  setSpec(presets()[static_cast<std::size_t>(index)].spec);
  takeVocabulary(true);
}

void PlanForm::setDataFile(const QString& path) {
  m_data->setText(path);
  tellEdited();
}

void PlanForm::setData(const RunSpec& spec) {
  m_data->show(spec);
  takeVocabulary(false);
  {
    const QSignalBlocker quiet(this);
    number("model.vocabulary").input->setValue(static_cast<double>(spec.model.vocabulary));
  }
  tellEdited();
}

PlanForm::Bound& PlanForm::number(const char* path) {
  return *std::find_if(m_numbers.begin(), m_numbers.end(),
                       [path](const Bound& number) { return number.field.path == path; });
}

void PlanForm::takeVocabulary(bool always) {
  const std::optional<TokenizerReport>& tokenizer = m_data->tokenizer()->tokenizer();
  const Bound& vocabulary = number("model.vocabulary");
  const auto least =
      tokenizer ? static_cast<double>(tokenizer->tokens) : vocabulary.field.bounds.least;
  const QSignalBlocker quiet(vocabulary.input);
  vocabulary.input->setRange(least, vocabulary.field.bounds.most);
  if (tokenizer && (always || vocabulary.input->value() < least))
    vocabulary.input->setValue(static_cast<double>(tokenizer->padded));
  vocabulary.row->setNote(tokenizer ? tr("The tokenizer's, up to a multiple of 64, which is faster")
                                    : QString());
}

void PlanForm::updateName() {
  if (m_nameTyped) return;
  const QString model = m_preset->currentIndex() >= 0 ? m_preset->currentText() : tr("Model");
  m_name->setText(tr("%1 on %2").arg(model, m_data->title()));
}

void PlanForm::updateSummaries() {
  const RunSpec now = spec();
  const bool keepsAll = now.train.recompute_level == 0 && now.train.recompute_further_layers == 0;
  const QString kept =
      keepsAll ? tr("keeps everything") : tr("recomputes, level %1").arg(now.train.recompute_level);
  QStringList memory = {kept};
  const auto add = [&](bool chosen, const QString& what) {
    if (chosen) memory << what;
  };
  add(now.train.activations == Precision::bf16, tr("BF16 activations"));
  add(now.train.products == Products::fp8, tr("FP8 products"));
  add(now.train.weights != WeightStorage::f32, tr("BF16 weights"));
  add(now.train.gradients == Precision::bf16, tr("BF16 gradients"));
  add(now.train.moments == Moments::eight_bit, tr("8-bit moments"));
  add(now.train.offload_moments || now.train.offload_master || now.train.offload_gradients,
      tr("offloads"));
  m_groups[0]->setSummary(memory.join(", "));
  m_groups[1]->setSummary(
      tr("%1 layers × %2")
          .arg(formatThousands(now.model.layers), formatThousands(now.model.width)));
  m_groups[2]->setSummary(
      tr("decay %1, clip %2")
          .arg(formatFixed(now.train.weight_decay, 2), formatFixed(now.train.clip_norm, 1)));
  m_groups[3]->setSummary(tr("every %1 steps").arg(formatThousands(now.train.checkpoint_interval)));
}

void PlanForm::tellEdited() {
  m_data->check();
  updateName();
  updateSummaries();
  emit edited();
}

bool PlanForm::hasProblem() const {
  return m_data->hasProblem() ||
         std::any_of(m_numbers.begin(), m_numbers.end(),
                     [](const Bound& number) { return !number.input->problem().isEmpty(); });
}

bool PlanForm::showProblem(const QString& message) {
  // The first field that the message names is the one to change.
  Bound* named = nullptr;
  qsizetype first = message.size();
  for (Bound& number : m_numbers) {
    const qsizetype at = message.indexOf(number.field.path);
    if (at >= 0 && at < first) {
      first = at;
      named = &number;
    }
  }
  if (named == nullptr) return false;
  const QSignalBlocker quiet(this);
  named->input->setProblem(inWords(message));
  for (Collapsible* group : m_groups) {
    if (group->isAncestorOf(named->input)) group->setExpanded(true);
  }
  return true;
}

void PlanForm::clearProblem() {
  const QSignalBlocker quiet(this);
  for (const Bound& number : m_numbers)
    number.input->setProblem({});
}

void PlanForm::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void PlanForm::dropEvent(QDropEvent* event) {
  setDataFile(event->mimeData()->urls().front().toLocalFile());
  event->acceptProposedAction();
}

}  // namespace athanor
