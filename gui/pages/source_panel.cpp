// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/source_panel.h"

#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QTableView>
#include <QToolButton>

#include "widgets/buttons.h"
#include "widgets/form_row.h"
#include "widgets/number_field.h"

namespace athanor {
namespace {

constexpr int kTyping_ms = 400;
constexpr int kRow_px = 28;
constexpr int kList_px = 150;

/// A separator is typed on one line: \n and \t stand for what they do in programs.
QString escaped(const std::string& text) {
  return QString::fromStdString(text).replace('\n', "\\n").replace('\t', "\\t");
}

std::string unescaped(QString text) {
  return text.replace("\\n", "\n").replace("\\t", "\t").toStdString();
}

}  // namespace

SourcePanel::SourcePanel(QWidget* parent)
    : Card(tr("Sources"), parent),
      m_table(new QTableView),
      m_remove(iconButton("trash", tr("Remove the chosen source"))),
      m_weight(new NumberField(NumberKind::real)),
      m_text(new QComboBox),
      m_boundary(new QComboBox),
      m_separator(new QLineEdit),
      m_weightRow(new FormRow(tr("Weight"), m_weight)),
      m_textRow(new FormRow(tr("Text is"), m_text)),
      m_boundaryRow(new FormRow(tr("A document ends"), m_boundary)),
      m_separatorRow(new FormRow(tr("Separator"), m_separator)) {
  makeList();
  makeForm();
  m_typing.setSingleShot(true);
  m_typing.setInterval(kTyping_ms);
  connect(&m_typing, &QTimer::timeout, this, &SourcePanel::takeForm);
  connect(&m_previewer, &SourcePreviewer::answered, this,
          [this](int ticket, const SourcePreview& preview) {
            m_model.setPreview(ticket, preview);
            showChosen();
            emit looked();
          });
  showChosen();
}

void SourcePanel::makeList() {
  QToolButton* files = iconButton("plus", tr("Add files"));
  QToolButton* folder = iconButton("folder", tr("Add a folder"));
  for (QToolButton* button : {files, folder, m_remove})
    addHeaderWidget(button);
  connect(files, &QToolButton::clicked, this, &SourcePanel::askForFiles);
  connect(folder, &QToolButton::clicked, this, &SourcePanel::askForFolder);
  connect(m_remove, &QToolButton::clicked, this, &SourcePanel::removeChosen);
  m_table->setModel(&m_model);
  m_table->setAccessibleName(tr("Sources"));
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->setShowGrid(false);
  m_table->setWordWrap(false);
  m_table->setTabKeyNavigation(false);
  m_table->setMinimumHeight(kList_px);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(kRow_px);
  m_table->horizontalHeader()->setHighlightSections(false);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_table->horizontalHeader()->setSectionResizeMode(SourceListModel::name, QHeaderView::Stretch);
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    m_typing.stop();
    showChosen();
    emit looked();
  });
  content()->addWidget(m_table, 1);
}

void SourcePanel::makeForm() {
  m_weight->setRange(0.01, 100);
  m_weight->setStep(0.5);
  m_weight->setUnit(tr("times"));
  m_weight->setObjectName("weight");
  m_weightRow->setHelp(tr("How often its documents occur in one pass: 0.5 is every other one"));
  m_text->setEditable(true);
  m_text->setInsertPolicy(QComboBox::NoInsert);
  m_text->setObjectName("text");
  m_text->lineEdit()->setAccessibleName(tr("Text is"));
  m_text->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_textRow->setHelp(
      tr("The field of a record that is its text, or a template such as {title}\\n\\n{text}"));
  m_boundary->addItems({tr("at a line <|endoftext|>"), tr("with its file"), tr("at an empty line"),
                        tr("at a separator")});
  m_boundary->setObjectName("boundary");
  m_separator->setObjectName("separator");
  m_separatorRow->setHelp(tr("What stands between two documents; \\n is a line break"));
  for (FormRow* row : {m_weightRow, m_textRow, m_boundaryRow, m_separatorRow})
    content()->addWidget(row);
  const auto typed = [this] {
    if (!m_filling) m_typing.start();
  };
  connect(m_text, &QComboBox::editTextChanged, this, typed);
  connect(m_separator, &QLineEdit::textEdited, this, typed);
  connect(m_boundary, &QComboBox::activated, this, &SourcePanel::takeForm);
  connect(m_weight, &NumberField::valueChanged, this, [this](double weight) {
    if (m_filling || chosen() < 0) return;
    m_model.setWeight(chosen(), weight);
    emit edited();
  });
}

void SourcePanel::askForFiles() {
  const QStringList paths = QFileDialog::getOpenFileNames(
      this, tr("Texts and records to learn from"), {},
      tr("Texts and records (*.txt *.text *.md *.jsonl *.ndjson *.json *.csv *.tsv *.parquet *.gz "
         "*.zst);;All files (*)"));
  if (!paths.isEmpty()) add(paths);
}

void SourcePanel::askForFolder() {
  const QString path = QFileDialog::getExistingDirectory(this, tr("Folder of texts and records"));
  if (!path.isEmpty()) add({path});
}

void SourcePanel::add(const QStringList& paths) {
  for (const QString& path : paths) {
    m_model.add({.path = path.toStdString()});
    preview(m_model.rowCount() - 1);
  }
  choose(m_model.rowCount() - 1);
  emit edited();
}

void SourcePanel::setSources(const std::vector<CorpusSource>& sources) {
  m_previewer.dropAll();
  m_model.setSources(sources);
  for (int row = 0; row < m_model.rowCount(); ++row)
    preview(row);
  choose(0);
}

void SourcePanel::setReadOptions(const ReadOptions& options) {
  m_options = options;
  m_previewer.dropAll();
  for (int row = 0; row < m_model.rowCount(); ++row)
    preview(row);
}

void SourcePanel::preview(int row) {
  m_previewer.ask(m_model.newTicket(row), m_model.rows()[static_cast<std::size_t>(row)].source,
                  m_options);
}

void SourcePanel::choose(int row) {
  m_table->selectRow(row);
}

int SourcePanel::chosen() const {
  const QModelIndexList rows = m_table->selectionModel()->selectedRows();
  return rows.isEmpty() ? -1 : rows.front().row();
}

const SourcePreview* SourcePanel::shown() const {
  if (chosen() < 0) return nullptr;
  const auto& preview = m_model.rows()[static_cast<std::size_t>(chosen())].preview;
  return preview ? &*preview : nullptr;
}

void SourcePanel::removeChosen() {
  const int row = chosen();
  if (row < 0) return;
  m_typing.stop();
  m_model.remove(row);
  choose(std::min(row, m_model.rowCount() - 1));
  showChosen();
  emit edited();
}

void SourcePanel::showChosen() {
  const int row = chosen();
  m_remove->setEnabled(row >= 0);
  const SourcePreview* preview = shown();
  const bool records = preview != nullptr && !preview->fields.empty();
  const bool texts = preview != nullptr && !records;
  const CorpusSource source =
      row < 0 ? CorpusSource{} : m_model.rows()[static_cast<std::size_t>(row)].source;
  m_weightRow->setVisible(row >= 0);
  m_textRow->setVisible(records);
  m_boundaryRow->setVisible(texts);
  m_separatorRow->setVisible(texts && source.boundary == Boundary::separator);
  // What is being typed is not overwritten by what it led to.
  if (m_typing.isActive() || m_text->lineEdit()->hasFocus() || m_separator->hasFocus()) return;
  m_filling = true;
  m_weight->setValue(source.weight);
  m_boundary->setCurrentIndex(static_cast<int>(source.boundary));
  m_separator->setText(escaped(source.separator));
  m_text->clear();
  if (records) {
    for (const FieldSummary& field : preview->fields)
      m_text->addItem(QString::fromStdString(field.name));
    m_text->lineEdit()->setPlaceholderText(
        tr("found: %1").arg(QString::fromStdString(preview->text)));
  }
  m_text->setEditText(QString::fromStdString(source.text));
  m_filling = false;
}

void SourcePanel::takeForm() {
  m_typing.stop();
  const int row = chosen();
  if (m_filling || row < 0) return;
  const CorpusSource& before = m_model.rows()[static_cast<std::size_t>(row)].source;
  CorpusSource source = before;
  if (!m_textRow->isHidden()) source.text = m_text->currentText().trimmed().toStdString();
  source.boundary = static_cast<Boundary>(m_boundary->currentIndex());
  source.separator = unescaped(m_separator->text());
  m_separatorRow->setVisible(!m_boundaryRow->isHidden() && source.boundary == Boundary::separator);
  if (source == before) return;
  // Until there is something to look for.
  if (source.boundary == Boundary::separator && source.separator.empty()) return;
  if (source.boundary != Boundary::separator) source.separator.clear();
  m_model.change(row, source);
  preview(row);
  emit edited();
}

}  // namespace athanor
