// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/data_choice.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QVBoxLayout>

#include "gui/pages/tokenizer_choice.h"
#include "widgets/form_row.h"

namespace athanor {
namespace {

enum Item { stories, present, chooseFile, chooseFolder };

QString problemOf(const std::string& source) {
  const QString path = QString::fromStdString(source);
  const QFileInfo info(path);
  QString problem;
  if (!info.exists()) {
    // A pattern names what is there when the run starts.
    if (path.contains('*') || path.contains('?') || path.contains('[')) return {};
    problem = DataChoice::tr("%1 is not there any more. Choose another text.");
  } else if (!info.isReadable()) {
    problem = DataChoice::tr(
        "You have no permission to read %1. Change its permissions, or choose another text.");
  } else if (info.isDir()) {
    return {};
  } else if (!info.isFile()) {
    problem = DataChoice::tr("%1 is not an ordinary file. Choose a text file or a folder.");
  } else if (info.size() == 0) {
    problem = DataChoice::tr("%1 is empty. Choose another text.");
  }
  return problem.isEmpty() ? problem : problem.arg(path);
}

}  // namespace

DataChoice::DataChoice(QWidget* parent)
    : QWidget(parent),
      m_box(new QComboBox),
      m_row(new FormRow(tr("Text"), m_box)),
      m_tokenizer(new TokenizerChoice) {
  m_row->setHelp(
      tr("What the model learns from: a text, records or a folder of them, or the built-in "
         "stories; the Data page takes several and looks into them"));
  m_box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_row);
  layout->addWidget(m_tokenizer);
  connect(m_box, &QComboBox::activated, this, &DataChoice::activate);
  connect(m_tokenizer, &TokenizerChoice::edited, this, &DataChoice::edited);
  fillBox();
}

void DataChoice::fill(RunSpec& spec) const {
  spec.sources = m_sources;
  spec.data.corpus = m_options;
  spec.data.tokenizer = m_tokenizer->path().toStdString();
  spec.data.tokenizer_pattern = m_tokenizer->pattern().toStdString();
}

void DataChoice::show(const RunSpec& spec) {
  showSources(spec);
  m_tokenizer->setTokenizer(QString::fromStdString(spec.data.tokenizer),
                            QString::fromStdString(spec.data.tokenizer_pattern));
}

void DataChoice::showSources(const RunSpec& spec) {
  m_sources = spec.sources;
  m_options = spec.data.corpus;
  fillBox();
}

void DataChoice::setText(const QString& path) {
  m_sources.clear();
  m_options = {};
  if (!path.isEmpty()) m_sources.push_back({.path = path.toStdString()});
  fillBox();
}

QString DataChoice::title() const {
  if (m_sources.empty()) return tr("stories");
  if (m_sources.size() > 1) return tr("%1 sources").arg(m_sources.size());
  const QFileInfo info(QString::fromStdString(m_sources.front().path));
  return info.isDir() ? info.fileName() : info.completeBaseName();
}

void DataChoice::fillBox() {
  m_box->clear();
  m_box->addItem(tr("Built-in stories"), stories);
  if (!m_sources.empty()) {
    QStringList paths;
    for (const CorpusSource& source : m_sources)
      paths << QString::fromStdString(source.path);
    m_box->addItem(m_sources.size() > 1 ? title() : QFileInfo(paths.front()).fileName(), present);
    m_box->setItemData(1, paths.join('\n'), Qt::ToolTipRole);
  }
  m_box->addItem(tr("Choose a file…"), chooseFile);
  m_box->addItem(tr("Choose a folder…"), chooseFolder);
  m_box->setCurrentIndex(m_sources.empty() ? 0 : 1);
  check();
}

void DataChoice::activate(int index) {
  const int item = m_box->itemData(index).toInt();
  if (item == present) return;
  if (item == stories) return choose({});
  const QString before =
      m_sources.empty() ? QString() : QString::fromStdString(m_sources.front().path);
  const QString path =
      item == chooseFolder
          ? QFileDialog::getExistingDirectory(this, tr("Folder of texts to learn from"), before)
          : QFileDialog::getOpenFileName(this, tr("Text to learn from"), before,
                                         tr("Texts and records (*.txt *.md *.jsonl *.json *.csv "
                                            "*.tsv *.parquet *.gz *.zst);;All files (*)"));
  if (path.isEmpty()) return fillBox();
  choose(path);
}

void DataChoice::choose(const QString& path) {
  setText(path);
  emit edited();
}

void DataChoice::check() {
  m_problem.clear();
  for (const CorpusSource& source : m_sources)
    if (m_problem.isEmpty()) m_problem = problemOf(source.path);
  m_row->setProblem(m_problem);
}

bool DataChoice::hasProblem() const {
  return !m_problem.isEmpty() || m_tokenizer->hasProblem();
}

}  // namespace athanor
