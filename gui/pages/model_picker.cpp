// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/model_picker.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QToolButton>

#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "gui/pages/import_menu.h"
#include "gui/run/attempt.h"
#include "widgets/buttons.h"

namespace athanor {

ModelPicker::ModelPicker(RunStore* store, QWidget* parent)
    : QWidget(parent), m_store(store), m_run(new QComboBox), m_checkpoint(new QComboBox) {
  m_run->setAccessibleName(tr("Run"));
  m_checkpoint->setAccessibleName(tr("Checkpoint"));
  m_checkpoint->setModel(&m_checkpoints);
  for (QComboBox* box : {m_run, m_checkpoint}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(12);
  }
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(m_run, 1);
  layout->addWidget(m_checkpoint, 1);
  QToolButton* import = iconButton("import", tr("Import a model"), true);
  auto* menu = new ImportMenu(import);
  import->setMenu(menu);
  import->setPopupMode(QToolButton::InstantPopup);
  layout->addWidget(import);
  connect(menu, &ImportMenu::chosen, this, &ModelPicker::importRequested);
  connect(m_run, &QComboBox::activated, this, [this] {
    showCheckpoints({});
    emit changed();
  });
  connect(m_checkpoint, &QComboBox::activated, this, &ModelPicker::changed);
}

QString ModelPicker::refresh() {
  const std::optional<qint64> run = runId();
  const std::optional<qint64> checkpoint = step();
  return attempt([&] {
    m_run->clear();
    for (const RunRecord& record : m_store->runs()) {
      if (m_store->checkpoints(record.id).empty()) continue;
      m_run->addItem(QString::fromStdString(record.name),
                     QVariant::fromValue<qlonglong>(record.id));
    }
    const int row = run ? m_run->findData(QVariant::fromValue<qlonglong>(*run)) : -1;
    m_run->setCurrentIndex(row < 0 && m_run->count() > 0 ? 0 : row);
    showCheckpoints(row < 0 ? std::nullopt : checkpoint);
  });
}

void ModelPicker::choose(qint64 runId, std::optional<qint64> step) {
  const int row = m_run->findData(QVariant::fromValue<qlonglong>(runId));
  if (row < 0) return;
  m_run->setCurrentIndex(row);
  showCheckpoints(step);
  emit changed();
}

void ModelPicker::showCheckpoints(std::optional<qint64> step) {
  const std::optional<qint64> run = runId();
  std::vector<CheckpointRow> rows;
  if (run) attempt([&] { rows = m_store->checkpoints(*run); });
  m_checkpoints.setCheckpoints(std::move(rows));
  const int row = step ? m_checkpoints.rowOf(*step) : -1;
  m_checkpoint->setCurrentIndex(row < 0 && m_checkpoints.rowCount() > 0 ? 0 : row);
}

std::optional<qint64> ModelPicker::runId() const {
  const QVariant id = m_run->currentData();
  return id.isValid() ? std::optional<qint64>(id.toLongLong()) : std::nullopt;
}

std::optional<qint64> ModelPicker::step() const {
  const QVariant step = m_checkpoint->currentData(CheckpointListModel::stepRole);
  return step.isValid() ? std::optional<qint64>(step.toLongLong()) : std::nullopt;
}

std::int64_t ModelPicker::context() const {
  const std::optional<qint64> id = runId();
  std::int64_t context = 0;
  if (id) {
    attempt([&] {
      const RunRecord record = m_store->run(*id).value_or(RunRecord{});
      context = run_spec_from_json(parse_json(record.spec, record.name), record.name).model.context;
    });
  }
  return context;
}

bool ModelPicker::isEmpty() const {
  return m_run->count() == 0;
}

}  // namespace athanor
