// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/tokenizer_choice.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QVBoxLayout>

#include "engine/data/tokenizer_description.h"
#include "widgets/form_row.h"
#include "widgets/format.h"

namespace athanor {
namespace {

enum Item { learnt, present, chooseFile, chooseFolder };

QComboBox* makeBox(const char* name) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  return box;
}

}  // namespace

TokenizerChoice::TokenizerChoice(QWidget* parent)
    : QWidget(parent),
      m_box(makeBox("data.tokenizer")),
      m_patterns(makeBox("data.tokenizer_pattern")),
      m_row(new FormRow(tr("Tokenizer"), m_box)),
      m_patternRow(new FormRow(tr("Cut as"), m_patterns)) {
  m_row->setHelp(
      tr("What cuts texts into tokens: learnt from the text, or one that is there already, such as "
         "tokenizer.json, tiktoken's or GPT-2's files, or a GGUF file"));
  m_patternRow->setHelp(
      tr("How a tiktoken file cuts texts before merging, where its size does not say it"));
  m_patterns->addItem(tr("Its size says"), QString());
  for (const std::string_view pattern : tiktoken_patterns()) {
    const QString name =
        QString::fromLatin1(pattern.data(), static_cast<qsizetype>(pattern.size()));
    m_patterns->addItem(name, name);
  }
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_row);
  layout->addWidget(m_patternRow);
  connect(m_box, &QComboBox::activated, this, &TokenizerChoice::activate);
  connect(m_patterns, &QComboBox::activated, this, [this] {
    setTokenizer(m_path, m_patterns->currentData().toString());
    m_chosen = true;
    emit edited();
  });
  connect(&m_reader, &TokenizerReader::answered, this, &TokenizerChoice::take);
  setTokenizer({});
}

void TokenizerChoice::activate(int index) {
  QString path;
  const int item = m_box->itemData(index).toInt();
  if (item == present) return;
  if (item == chooseFile) {
    path = QFileDialog::getOpenFileName(
        this, tr("Tokenizer"), m_path,
        tr("Tokenizers (tokenizer.json encoder.json vocab.json *.tiktoken *.gguf);;All files (*)"));
  } else if (item == chooseFolder) {
    path = QFileDialog::getExistingDirectory(this, tr("Folder of the tokenizer"), m_path);
  }
  if (path.isEmpty() && item != learnt) return fill();
  choose(path);
}

void TokenizerChoice::choose(const QString& path) {
  setTokenizer(path);
  m_chosen = true;
  emit edited();
}

void TokenizerChoice::setTokenizer(const QString& path, const QString& pattern) {
  if (path == m_path && pattern == m_pattern && m_tokenizer) return;
  m_path = path;
  m_pattern = pattern;
  m_chosen = false;
  m_tokenizer.reset();
  m_row->setProblem({});
  m_row->setNote(path.isEmpty() ? QString() : tr("It is being read…"));
  m_patternRow->setVisible(!pattern.isEmpty() || path.endsWith(".tiktoken"));
  fill();
  if (path.isEmpty()) {
    m_reader.drop();
  } else {
    m_reader.read(path, pattern);
  }
}

void TokenizerChoice::fill() {
  m_box->clear();
  m_box->addItem(tr("Learnt from the text"), learnt);
  if (!m_path.isEmpty()) {
    m_box->addItem(QFileInfo(m_path).fileName(), present);
    m_box->setItemData(1, m_path, Qt::ToolTipRole);
  }
  m_box->addItem(tr("Choose a file…"), chooseFile);
  m_box->addItem(tr("Choose a folder…"), chooseFolder);
  m_box->setCurrentIndex(m_path.isEmpty() ? 0 : 1);
  m_patterns->setCurrentIndex(std::max(0, m_patterns->findData(m_pattern)));
}

void TokenizerChoice::take(const TokenizerReport& report) {
  m_row->setProblem(report.problem);
  m_row->setNote(report.problem.isEmpty()
                     ? tr("%1 tokens; a text ends with %2")
                           .arg(formatThousands(report.tokens), report.endOfText)
                     : QString());
  if (report.wantsPattern) m_patternRow->show();
  if (report.problem.isEmpty()) m_tokenizer = report;
  emit answered(m_chosen);
}

}  // namespace athanor
