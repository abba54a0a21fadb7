// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/export_dialog.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "gui/run/attempt.h"
#include "widgets/buttons.h"
#include "widgets/form_row.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

constexpr int kWidth_px = 560;

QString nameOf(NumberFormat type) {
  const std::string_view name = name_of(type);
  return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size())).toUpper();
}

QString meaningOf(NumberFormat type) {
  switch (type) {
    case NumberFormat::f32:
      return ExportDialog::tr("Four bytes a weight, exactly as computed with.");
    case NumberFormat::f16:
      return ExportDialog::tr("Two bytes a weight, three to four digits; huge weights do not fit.");
    case NumberFormat::bf16:
      return ExportDialog::tr("Two bytes a weight, two to three digits.");
    case NumberFormat::q8_0:
      return ExportDialog::tr("About one byte a weight; the rounding is hard to notice.");
    default:
      return ExportDialog::tr("About half a byte a weight; small models suffer from the rounding.");
  }
}

QString spaceOf(const QString& folder) {
  std::int64_t free_bytes = 0;
  const QString problem = attempt([&] { free_bytes = free_disk_bytes(folder.toStdString()); });
  return problem.isEmpty() ? ExportDialog::tr("%1 are free there.").arg(formatBytes(free_bytes))
                           : problem;
}

}  // namespace

ExportDialog::ExportDialog(const RunRecord& run, std::vector<CheckpointRow> checkpoints,
                           const QString& parentFolder, QWidget* parent)
    : QDialog(parent),
      m_name(QString::fromStdString(file_name_of(run.name))),
      m_checkpoints(std::move(checkpoints)),
      m_parentFolder(parentFolder),
      m_checkpoint(new QComboBox),
      m_kind(new Segmented(tr("For"), {tr("Hugging Face folder"), tr("GGUF file")})),
      m_type(new QComboBox),
      m_folder(new QLineEdit),
      m_result(makeSentence({}, FontRole::body, Tone::muted)),
      m_export(primaryButton(tr("Export"), "export")) {
  setWindowTitle(tr("Export %1").arg(QString::fromStdString(run.name)));
  m_unreadable = attempt([&] {
    m_model = run_spec_from_json(parse_json(run.spec, run.name), run.name).model;
    check_model_config(m_model);
  });
  std::ranges::reverse(m_checkpoints);
  for (const CheckpointRow& row : m_checkpoints)
    m_checkpoint->addItem(tr("Step %1").arg(formatThousands(row.step)));
  addRows();
  proposeFolder();
  fillTypes();
}

void ExportDialog::addRows() {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(4);
  auto* where = new QWidget;
  auto* whereRow = new QHBoxLayout(where);
  whereRow->setContentsMargins(0, 0, 0, 0);
  whereRow->setSpacing(8);
  QPushButton* choose = plainButton(tr("Choose…"), "folder");
  whereRow->addWidget(m_folder, 1);
  whereRow->addWidget(choose);
  m_kindRow = new FormRow(tr("For"), m_kind);
  m_typeRow = new FormRow(tr("Numbers"), m_type);
  m_folderRow = new FormRow(tr("New folder"), where);
  m_folder->setAccessibleName(tr("New folder"));
  m_folder->setObjectName("folder");
  m_type->setObjectName("numbers");
  m_export->setObjectName("export");
  m_export->setDefault(true);
  layout->addWidget(new FormRow(tr("Checkpoint"), m_checkpoint));
  for (FormRow* row : {m_kindRow, m_typeRow, m_folderRow})
    layout->addWidget(row);
  layout->addSpacing(8);
  layout->addWidget(m_result);
  layout->addStretch(1);
  layout->addSpacing(12);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  QPushButton* cancel = plainButton(tr("Cancel"));
  cancel->setAutoDefault(false);
  choose->setAutoDefault(false);
  buttons->addStretch(1);
  buttons->addWidget(cancel);
  buttons->addWidget(m_export);
  layout->addLayout(buttons);
  setMinimumWidth(kWidth_px);
  connect(m_checkpoint, &QComboBox::activated, this, &ExportDialog::fillTypes);
  connect(m_kind, &Segmented::currentChanged, this, [this] {
    if (!m_folderTyped) proposeFolder();
    fillTypes();
  });
  connect(m_type, &QComboBox::currentIndexChanged, this, &ExportDialog::refresh);
  connect(m_folder, &QLineEdit::textEdited, this, [this] {
    m_folderTyped = true;
    refresh();
  });
  connect(choose, &QPushButton::clicked, this, &ExportDialog::chooseFolder);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_export, &QPushButton::clicked, this, &QDialog::accept);
}

FileKind ExportDialog::kind() const {
  return m_kind->current() == 0 ? FileKind::hugging_face : FileKind::gguf;
}

std::optional<NumberFormat> ExportDialog::type() const {
  const QVariant chosen = m_type->currentData();
  if (!chosen.isValid()) return std::nullopt;
  return static_cast<NumberFormat>(chosen.toInt());
}

const CheckpointRow& ExportDialog::checkpoint() const {
  return m_checkpoints[static_cast<std::size_t>(m_checkpoint->currentIndex())];
}

void ExportDialog::fillTypes() {
  const std::optional<NumberFormat> before = type();
  const QSignalBlocker quiet(m_type);
  m_type->clear();
  QString problem = m_unreadable;
  if (problem.isEmpty()) {
    problem = attempt([&] {
      const NumberFormat saved = saved_format(checkpoint().path);
      for (const NumberFormat each : export_types(kind())) {
        const QString bytes = formatBytes(exported_bytes(m_model, {.kind = kind(), .type = each}));
        m_type->addItem(each == saved ? tr("%1, as saved: %2").arg(nameOf(each), bytes)
                                      : tr("%1: %2").arg(nameOf(each), bytes),
                        static_cast<int>(each));
      }
      const int row = before ? m_type->findData(static_cast<int>(*before)) : -1;
      m_type->setCurrentIndex(row >= 0 ? row : m_type->findData(static_cast<int>(saved)));
    });
  }
  if (!problem.isEmpty()) m_type->clear();
  m_kindRow->setProblem(problem);
  refresh();
}

void ExportDialog::proposeFolder() {
  const QString wanted =
      m_parentFolder + '/' + m_name + (kind() == FileKind::gguf ? "-gguf" : "-hf");
  QString free = wanted;
  for (int n = 2; QFileInfo::exists(free); ++n)
    free = QString("%1-%2").arg(wanted).arg(n);
  m_folder->setText(free);
}

void ExportDialog::chooseFolder() {
  const QString chosen =
      QFileDialog::getExistingDirectory(this, tr("Where the new folder is made"), m_parentFolder);
  if (chosen.isEmpty()) return;
  m_parentFolder = chosen;
  m_folderTyped = false;
  proposeFolder();
  refresh();
}

QString ExportDialog::folderProblem() const {
  const QString folder = m_folder->text().trimmed();
  if (folder.isEmpty()) return tr("Name a folder to be made.");
  if (!QFileInfo(folder).isAbsolute())
    return tr("Name it from the root on, such as /home/me/model.");
  if (QFileInfo::exists(folder)) return tr("It is there already. Choose another name.");
  if (!QFileInfo(QFileInfo(folder).absolutePath()).isDir()) {
    return tr("%1 is not there. Make it first.").arg(QFileInfo(folder).absolutePath());
  }
  return {};
}

void ExportDialog::refresh() {
  const std::optional<NumberFormat> chosen = type();
  const QString problem = folderProblem();
  m_typeRow->setNote(chosen ? meaningOf(*chosen) : QString());
  m_folderRow->setProblem(problem);
  m_folderRow->setNote(problem.isEmpty() ? spaceOf(m_folder->text().trimmed()) : QString());
  m_result->setText(
      kind() == FileKind::gguf
          ? tr("One file for llama.cpp and the programs built on it, and a Modelfile for Ollama.")
          : tr("Weights in safetensors, settings and tokenizer, as transformers loads them."));
  m_export->setEnabled(chosen && problem.isEmpty());
}

ExportRequest ExportDialog::request() const {
  return {.step = checkpoint().step,
          .kind = kind(),
          .type = type(),
          .folder = m_folder->text().trimmed().toStdString()};
}

}  // namespace athanor
