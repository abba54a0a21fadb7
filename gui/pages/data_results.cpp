// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/data_results.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "gui/pages/comparison_table.h"
#include "gui/pages/problem_table.h"
#include "gui/pages/record_table.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/figure.h"
#include "widgets/format.h"
#include "widgets/histogram.h"
#include "widgets/labels.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

QVector<std::int64_t> vectorOf(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

DataResults::DataResults(QWidget* parent)
    : QWidget(parent),
      m_documents(new Figure(tr("Documents"))),
      m_tokens(new Figure(tr("Tokens"))),
      m_median(new Figure(tr("Median length"))),
      m_longer(new Figure(tr("Longer than the context"))),
      m_packing(new Figure(tr("Places used"))),
      m_top(new Card),
      m_view(new Segmented(tr("What is shown"), {tr("Records"), tr("First batch")})),
      m_views(new QStackedWidget),
      m_records(new RecordTable),
      m_batch(new TokenView),
      m_lengths(new Card(tr("Document lengths"))),
      m_histogram(new Histogram(tr("tokens in a document"), tr("documents"))),
      m_side(new Card),
      m_what(new Segmented(tr("What is listed"), {tr("Problems"), tr("Tokenizers")})),
      m_whats(new QStackedWidget),
      m_problems(new ProblemTable),
      m_comparison(new ComparisonTable),
      m_compare(plainButton(tr("Compare with"), "plus")) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(makeFigures());
  layout->addWidget(makeTop(), 3);
  layout->addWidget(makeBottom(), 2);
  showPreview(nullptr);
  showFaults({});
  showReport(std::nullopt);
}

QWidget* DataResults::makeFigures() {
  auto* card = new Card;
  auto* row = new QHBoxLayout;
  row->setSpacing(16);
  for (Figure* figure : {m_documents, m_tokens, m_median, m_longer, m_packing})
    row->addWidget(figure, 1);
  card->content()->addLayout(row);
  return card;
}

QWidget* DataResults::makeTop() {
  auto* scroll = new QScrollArea;
  scroll->setWidget(m_batch);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  m_batch->setAccessibleName(tr("Tokens of the first batch"));
  auto* batch = new QWidget;
  auto* column = new QVBoxLayout(batch);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(scroll, 1);
  column->addWidget(makeSentence(
      tr("A bar begins a document. Struck through: given, but not to be predicted. Hold the "
         "pointer over a token for its number."),
      FontRole::note, Tone::muted));
  m_views->addWidget(m_records);
  m_views->addWidget(batch);
  m_views->setStyleSheet("QStackedWidget { background: transparent; }");
  m_top->addHeaderWidget(m_view);
  m_top->content()->addWidget(m_views, 1);
  connect(m_view, &Segmented::currentChanged, m_views, &QStackedWidget::setCurrentIndex);
  return m_top;
}

QWidget* DataResults::makeBottom() {
  m_lengths->content()->addWidget(m_histogram, 1);
  auto* menu = new QMenu(m_compare);
  menu->addAction(tr("A tokenizer's file…"), this, [this] {
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Tokenizer to compare with"), {},
        tr("Tokenizers (tokenizer.json encoder.json vocab.json *.tiktoken *.gguf);;All files (*)"));
    if (!path.isEmpty()) emit compareRequested(path);
  });
  menu->addAction(tr("A tokenizer's folder…"), this, [this] {
    const QString path = QFileDialog::getExistingDirectory(this, tr("Tokenizer to compare with"));
    if (!path.isEmpty()) emit compareRequested(path);
  });
  m_compare->setMenu(menu);
  m_compare->setObjectName("compare");
  auto* tokenizers = new QWidget;
  auto* column = new QVBoxLayout(tokenizers);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(m_comparison, 1);
  column->addWidget(m_compare, 0, Qt::AlignLeft);
  m_whats->addWidget(m_problems);
  m_whats->addWidget(tokenizers);
  m_whats->setStyleSheet("QStackedWidget { background: transparent; }");
  m_side->addHeaderWidget(m_what);
  m_side->content()->addWidget(m_whats, 1);
  connect(m_what, &Segmented::currentChanged, m_whats, &QStackedWidget::setCurrentIndex);
  auto* bottom = new QWidget;
  auto* row = new QHBoxLayout(bottom);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(12);
  row->addWidget(m_lengths, 1);
  row->addWidget(m_side, 1);
  return bottom;
}

void DataResults::showPreview(const SourcePreview* preview) {
  if (preview == nullptr) {
    m_records->clearPreview();
    m_top->setTitle(tr("What is in it"));
    return;
  }
  m_records->showPreview(*preview);
  m_top->setTitle(preview->first.empty() ? tr("Nothing to learn from") : tr("What is in it"));
}

void DataResults::showFaults(const std::vector<SourcePreview>& previews) {
  std::vector<BadRecord> bad;
  std::int64_t count = 0;
  for (const SourcePreview& preview : previews) {
    bad.insert(bad.end(), preview.bad.begin(), preview.bad.end());
    count += preview.bad_records;
    if (preview.invalid_bytes > 0) {
      ++count;
      bad.push_back({.file = preview.first_invalid,
                     .line = 0,
                     .cause = tr("%1 bytes are not UTF-8, here the first")
                                  .arg(formatThousands(preview.invalid_bytes))
                                  .toStdString()});
    }
  }
  m_problems->showBad(bad);
  m_side->setTitle(count == 0 ? tr("No faults found")
                              : tr("%1 faults").arg(formatThousands(count)));
}

void DataResults::clearFigures() {
  for (Figure* figure : {m_documents, m_tokens, m_median, m_longer, m_packing}) {
    figure->setValue(noValue());
    figure->setNote({});
  }
}

void DataResults::showFigures(const DataReport& report) {
  const TokenStatistics& found = report.statistics;
  const CorpusCounts& counts = report.counts;
  m_documents->setValue(formatThousands(counts.documents));
  m_documents->setNote(counts.duplicates > 0
                           ? tr("%1 duplicates left out").arg(formatThousands(counts.duplicates))
                           : formatBytes(counts.text_bytes));
  m_tokens->setValue(formatCount(static_cast<double>(found.tokens)));
  m_tokens->setNote(
      tr("and %1 to validate").arg(formatCount(static_cast<double>(report.validation_tokens))));
  m_median->setValue(formatThousands(found.median_tokens), tr("tokens"));
  m_median->setNote(tr("longest %1").arg(formatThousands(found.longest_tokens)));
  m_longer->setValue(formatPercent(share(found.longer_documents, found.documents)));
  m_longer->setNote(tr("%1 are cut").arg(formatThousands(found.cut_documents)));
  m_packing->setValue(formatPercent(found.packing_efficiency));
  m_packing->setNote(tr("%1 if padded").arg(formatPercent(found.padded_efficiency, 0)));
}

void DataResults::showReport(const std::optional<DataReport>& report) {
  m_view->setOptionEnabled(1, report.has_value(), tr("Press Prepare first"));
  m_compare->setEnabled(report.has_value());
  if (!report) {
    clearFigures();
    m_view->setCurrent(0);
    m_batch->setRows({});
    m_histogram->setCounts({});
    m_lengths->setNote(tr("known once prepared"));
    m_comparison->setRowCount(0);
    return;
  }
  showFigures(*report);
  m_batch->setRows(report->batch);
  m_histogram->setCounts(vectorOf(report->statistics.lengths));
  m_histogram->setMark(report->statistics.context,
                       tr("context %1").arg(formatThousands(report->statistics.context)));
  m_lengths->setNote(tr("mean %1 tokens").arg(formatFixed(report->statistics.mean_tokens, 0)));
  m_comparison->setRowCount(0);
  addComparison(report->tokenizer);
}

void DataResults::addComparison(const ComparedTokenizer& tokenizer) {
  m_comparison->add(tokenizer);
}

}  // namespace athanor
