// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/space_dialog.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr QSize kSize{720, 440};
constexpr int kRow_px = 26;

QTableWidgetItem* item(const QString& text, bool number) {
  auto* made = new QTableWidgetItem(text);
  made->setTextAlignment(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft));
  return made;
}

}  // namespace

SpaceDialog::SpaceDialog(std::filesystem::path home, QWidget* parent)
    : QDialog(parent),
      m_home(std::move(home)),
      m_summary(makeSentence(tr("Measuring…"))),
      m_table(new QTableWidget),
      m_older(plainButton(tr("Remove older checkpoints"))),
      m_abandoned(plainButton(tr("Remove abandoned ones"))),
      m_data(plainButton(tr("Remove unused tokens"))),
      m_said(makeSentence({}, FontRole::note, Tone::muted)),
      m_thread("disk space") {
  setWindowTitle(tr("Disk space"));
  resize(kSize);
  m_table->setAccessibleName(tr("Disk space of each run"));
  m_table->setColumnCount(4);
  m_table->setHorizontalHeaderLabels(
      {tr("Run"), tr("Checkpoints"), tr("Of them older"), tr("Abandoned")});
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setShowGrid(false);
  m_table->setTabKeyNavigation(false);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(kRow_px);
  m_table->horizontalHeader()->setHighlightSections(false);
  m_table->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  m_older->setToolTip(tr("Of the chosen runs, or of all; the newest and the best stay"));
  m_older->setObjectName("removeOlder");
  m_abandoned->setToolTip(tr("What came after a checkpoint that a run went back to"));
  m_abandoned->setObjectName("removeAbandoned");
  m_data->setToolTip(tr("Of texts that no run uses; they are made again when needed"));
  m_data->setObjectName("removeData");
  connect(m_table, &QTableWidget::itemSelectionChanged, this, &SpaceDialog::updateButtons);
  connect(m_older, &QPushButton::clicked, this, [this] {
    clean([runs = chosen()](RunStore& store) {
      std::int64_t bytes = 0;
      for (const std::int64_t run : runs)
        bytes += remove_older_checkpoints(store, run);
      return bytes;
    });
  });
  connect(m_abandoned, &QPushButton::clicked, this, [this] {
    clean([runs = chosen()](RunStore& store) {
      std::int64_t bytes = 0;
      for (const std::int64_t run : runs)
        bytes += remove_abandoned_checkpoints(store, run);
      return bytes;
    });
  });
  connect(m_data, &QPushButton::clicked, this,
          [this] { clean([](RunStore& store) { return remove_unused_data(store); }); });
  QPushButton* close = primaryButton(tr("Close"));
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(8);
  for (QPushButton* button : {m_older, m_abandoned, m_data})
    buttons->addWidget(button);
  buttons->addStretch(1);
  buttons->addWidget(close);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(m_summary);
  layout->addWidget(m_table, 1);
  layout->addWidget(m_said);
  layout->addLayout(buttons);
  updateButtons();
  measure();
}

SpaceDialog::~SpaceDialog() {
  m_cancel.request();
}

void SpaceDialog::measure(std::int64_t freed_bytes) {
  m_working = true;
  updateButtons();
  m_thread.post([this, freed_bytes] {
    try {
      const DiskUsage usage = measure_disk_usage(RunStore(m_home), m_cancel);
      m_inbox.post([this, usage, freed_bytes] { show(usage, freed_bytes); });
    } catch (const Cancelled&) {
      return;
    } catch (const std::exception& error) {
      m_inbox.post([this, problem = QString::fromUtf8(error.what())] { showProblem(problem); });
    }
  });
}

void SpaceDialog::clean(const Work& work) {
  m_working = true;
  m_said->setText(tr("Removing…"));
  updateButtons();
  m_thread.post([this, work] {
    try {
      RunStore store(m_home);
      const std::int64_t freed_bytes = work(store);
      m_inbox.post([this, freed_bytes] {
        emit cleaned();
        measure(freed_bytes);
      });
    } catch (const std::exception& error) {
      m_inbox.post([this, problem = QString::fromUtf8(error.what())] { showProblem(problem); });
    }
  });
}

void SpaceDialog::show(const DiskUsage& usage, std::int64_t freed_bytes) {
  m_usage = usage;
  m_working = false;
  std::int64_t checkpoint_bytes = 0;
  m_table->clearSelection();
  m_table->setRowCount(static_cast<int>(usage.runs.size()));
  for (int row = 0; row < m_table->rowCount(); ++row) {
    const RunUsage& run = usage.runs[static_cast<std::size_t>(row)];
    checkpoint_bytes += run.checkpoint_bytes + run.abandoned_bytes;
    m_table->setItem(row, 0, item(QString::fromStdString(run.name), false));
    int column = 1;
    for (const std::int64_t bytes : {run.checkpoint_bytes, run.older_bytes, run.abandoned_bytes})
      m_table->setItem(row, column++, item(bytes > 0 ? formatBytes(bytes) : noValue(), true));
  }
  m_summary->setText(tr("%1 are free. Checkpoints take %2, tokens of texts %3%4.")
                         .arg(formatBytes(usage.free_bytes), formatBytes(checkpoint_bytes),
                              formatBytes(usage.data_bytes),
                              usage.unused_data_bytes == 0
                                  ? QString()
                                  : tr(" (%1 of them of texts that no run uses)")
                                        .arg(formatBytes(usage.unused_data_bytes))));
  m_said->setText(freed_bytes > 0 ? tr("%1 were freed.").arg(formatBytes(freed_bytes)) : QString());
  updateButtons();
  emit measured();
}

void SpaceDialog::showProblem(const QString& problem) {
  m_working = false;
  m_said->setText(problem);
  updateButtons();
}

std::vector<std::int64_t> SpaceDialog::chosen() const {
  const QModelIndexList rows = m_table->selectionModel()->selectedRows();
  std::vector<std::int64_t> runs;
  for (int row = 0; row < static_cast<int>(m_usage.runs.size()); ++row) {
    const bool selected =
        rows.isEmpty() ||
        std::ranges::any_of(rows, [row](const QModelIndex& index) { return index.row() == row; });
    if (selected) runs.push_back(m_usage.runs[static_cast<std::size_t>(row)].run_id);
  }
  return runs;
}

void SpaceDialog::updateButtons() {
  const std::vector<std::int64_t> runs = chosen();
  const auto any = [&](std::int64_t RunUsage::*bytes) {
    return !m_working && std::ranges::any_of(m_usage.runs, [&](const RunUsage& run) {
      return run.*bytes > 0 && std::ranges::find(runs, run.run_id) != runs.end();
    });
  };
  m_older->setEnabled(any(&RunUsage::older_bytes));
  m_abandoned->setEnabled(any(&RunUsage::abandoned_bytes));
  m_data->setEnabled(!m_working && m_usage.unused_data_bytes > 0);
}

}  // namespace athanor
