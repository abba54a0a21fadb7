// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/data_page.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "gui/pages/page_header.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/empty_state.h"
#include "widgets/figure.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/text_block.h"

namespace athanor {
namespace {

constexpr int kParts = 1000;

QWidget* makeReading(QProgressBar* progress) {
  progress->setRange(0, kParts);
  progress->setTextVisible(false);
  progress->setAccessibleName(DataPage::tr("Progress of the check"));
  auto* card = new Card(DataPage::tr("Reading the text"));
  card->setFixedWidth(440);
  card->content()->addWidget(progress);
  auto* reading = new QWidget;
  auto* layout = new QVBoxLayout(reading);
  layout->addStretch(2);
  layout->addWidget(card, 0, Qt::AlignHCenter);
  layout->addStretch(3);
  return reading;
}

}  // namespace

DataPage::DataPage(QWidget* parent)
    : QWidget(parent),
      m_use(primaryButton(tr("Use in plan"), "plan")),
      m_banner(new Banner),
      m_stack(new QStackedWidget),
      m_progress(new QProgressBar),
      m_size(new Figure(tr("Size"))),
      m_lines(new Figure(tr("Lines"))),
      m_characters(new Figure(tr("Characters"))),
      m_words(new Figure(tr("Words"))),
      m_documents(new Figure(tr("Documents"))),
      m_verdict(makeSentence({})),
      m_sample(new TextBlock) {
  auto* header = new PageHeader(tr("Data"));
  header->setSubtitle(tr("Plain text in UTF-8. A line with only <|endoftext|> ends a document."));
  QPushButton* open = plainButton(tr("Choose a text…"), "folder");
  connect(open, &QPushButton::clicked, this, &DataPage::choose);
  header->addAction(open);
  header->addAction(m_use);
  auto* drop =
      new EmptyState("data", tr("Drop a .txt file here, or choose one"), tr("Choose a text…"));
  connect(drop, &EmptyState::activated, this, &DataPage::choose);
  m_drop = drop;
  m_reading = makeReading(m_progress);
  m_content = makeReport();
  for (QWidget* page : {m_drop, m_reading, m_content})
    m_stack->addWidget(page);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(header);
  layout->addWidget(m_banner);
  layout->addWidget(m_stack, 1);
  setAcceptDrops(true);
  m_use->setEnabled(false);
  m_use->setToolTip(tr("Choose a text first"));
  connect(m_use, &QPushButton::clicked, this, [this] { emit useRequested(m_report.path); });
  connect(&m_checker, &TextChecker::checked, this, &DataPage::showReport);
  connect(&m_checker, &TextChecker::progressed, this, [this](qint64 done, qint64 total) {
    if (total > 0) m_progress->setValue(static_cast<int>(done * kParts / total));
  });
}

QWidget* DataPage::makeReport() {
  m_facts = new Card;
  auto* row = new QHBoxLayout;
  row->setSpacing(16);
  for (Figure* figure : {m_size, m_lines, m_characters, m_words, m_documents})
    row->addWidget(figure, 1);
  m_facts->content()->addLayout(row);
  m_facts->content()->addWidget(m_verdict);
  auto* sample = new Card(tr("How it begins"));
  auto* scroll = new QScrollArea;
  scroll->setWidget(m_sample);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  m_sample->setAccessibleName(tr("The beginning of the text"));
  sample->content()->addWidget(scroll, 1);
  auto* content = new QWidget;
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(m_facts);
  layout->addWidget(sample, 1);
  return content;
}

void DataPage::choose() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Text to learn from"), m_report.path,
                                                    tr("Text (*.txt *.md);;All files (*)"));
  if (!path.isEmpty()) check(path);
}

void DataPage::check(const QString& path) {
  m_banner->hide();
  m_use->setEnabled(false);
  m_progress->setValue(0);
  m_stack->setCurrentWidget(m_reading);
  m_checker.check(path);
}

void DataPage::showReport(const TextReport& report) {
  m_report = report;
  const bool good = report.problem.isEmpty();
  m_use->setEnabled(good);
  m_use->setToolTip(good ? QString() : report.problem);
  m_stack->setCurrentWidget(good ? m_content : m_drop);
  if (good) {
    m_facts->setTitle(QFileInfo(report.path).fileName());
    m_facts->setNote(report.path);
    m_size->setValue(formatBytes(report.size_bytes));
    m_lines->setValue(formatThousands(report.lines));
    m_characters->setValue(formatThousands(report.characters));
    m_words->setValue(formatThousands(report.words));
    m_documents->setValue(formatThousands(report.documents));
    m_verdict->setText(tr("Readable UTF-8 text from beginning to end."));
    setTone(m_verdict, Tone::success);
    m_sample->setContent(report.sample);
  } else {
    m_banner->showMessage({.kind = BannerKind::danger,
                           .title = tr("This text cannot be used"),
                           .text = report.problem,
                           .details = {},
                           .actions = {}});
  }
  emit checkedFile(report);
}

void DataPage::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void DataPage::dropEvent(QDropEvent* event) {
  check(event->mimeData()->urls().front().toLocalFile());
  event->acceptProposedAction();
}

}  // namespace athanor
