// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/progress_row.h"

#include <QHBoxLayout>
#include <QProgressBar>
#include <QPushButton>

#include "widgets/buttons.h"
#include "widgets/elided_label.h"
#include "widgets/format.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

constexpr int kParts = 1000;
constexpr int kBar_px = 200;
/// Before this, the speed is not known well enough to foretell anything.
constexpr qint64 kLeastClock_ms = 1000;

}  // namespace

ProgressRow::ProgressRow(QWidget* parent)
    : QWidget(parent),
      m_title(new ElidedLabel),
      m_bar(new QProgressBar),
      m_text(new NumberLabel),
      m_cancel(plainButton(tr("Cancel"))) {
  m_bar->setTextVisible(false);
  m_bar->setFixedWidth(kBar_px);
  m_bar->setAccessibleName(tr("Progress"));
  m_cancel->setObjectName("cancel");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(m_title);
  layout->addStretch(1);
  layout->addWidget(m_text);
  layout->addWidget(m_bar);
  layout->addWidget(m_cancel);
  connect(m_cancel, &QPushButton::clicked, this, [this] {
    m_cancel->setEnabled(false);
    emit cancelRequested();
  });
}

void ProgressRow::start(const QString& title) {
  m_title->setText(title);
  m_cancel->setEnabled(true);
  m_clock.invalidate();
  setProgress(0, 0);
}

void ProgressRow::setTitle(const QString& title) {
  if (title != m_title->fullText()) m_title->setText(title);
}

void ProgressRow::setProgress(std::int64_t done, std::int64_t total) {
  if (!m_clock.isValid() || done < m_done) {
    m_clock.start();
    m_first = done;
  }
  m_done = done;
  if (total <= 0) {
    m_bar->setRange(0, 0);
    m_text->setText({});
    return;
  }
  const double share = static_cast<double>(done) / static_cast<double>(total);
  m_bar->setRange(0, kParts);
  m_bar->setValue(static_cast<int>(share * kParts));
  const QString left = timeLeft(done, total);
  m_text->setText(left.isEmpty() ? formatPercent(share, 0)
                                 : tr("%1, %2 left").arg(formatPercent(share, 0), left));
}

QString ProgressRow::timeLeft(std::int64_t done, std::int64_t total) const {
  if (done <= m_first || m_clock.elapsed() < kLeastClock_ms) return {};
  const double speed = static_cast<double>(done - m_first) / static_cast<double>(m_clock.elapsed());
  return formatDuration(static_cast<double>(total - done) / speed / 1000);
}

QString ProgressRow::progressText() const {
  return m_text->text();
}

}  // namespace athanor
