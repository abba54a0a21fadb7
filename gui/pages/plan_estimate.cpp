// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/plan_estimate.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "engine/planner/buffer_table.h"
#include "gui/pages/divider.h"
#include "gui/pages/memory_roles.h"
#include "gui/pages/plan_course.h"
#include "gui/pages/proposal_card.h"
#include "gui/pages/tone_icon.h"
#include "widgets/card.h"
#include "widgets/figure.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"

namespace athanor {
namespace {

constexpr std::int64_t kTight_bytes = 3LL * (1LL << 30) / 10;

struct Look {
  QString icon;
  QString word;
  Tone tone;
};

Look lookOf(PlanEstimate::Verdict verdict) {
  switch (verdict) {
    case PlanEstimate::Verdict::fits:
      return {"check", PlanEstimate::tr("Fits"), Tone::success};
    case PlanEstimate::Verdict::tight:
      return {"warning", PlanEstimate::tr("Tight"), Tone::warning};
    case PlanEstimate::Verdict::doesNotFit:
      return {"cross", PlanEstimate::tr("Does not fit"), Tone::danger};
    case PlanEstimate::Verdict::unusable:
      break;
  }
  return {"cross", PlanEstimate::tr("Cannot be trained"), Tone::danger};
}

struct Operations {
  QString figure;
  QString unit;
};

/// Floating-point operations with the prefix that leaves one to three digits.
Operations scaled(double flops) {
  constexpr const char* kUnits[] = {"MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"};
  double value = flops / 1e6;
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit)
    value /= 1000;
  return {formatFixed(value, 1), kUnits[unit]};
}

struct Limit {
  QString word;
  double share = 0;
};

/// The kind of work that takes most of a step.
Limit limitOf(const Throughput& speed) {
  const auto seconds = [&](std::initializer_list<Operation> operations) {
    double sum = 0;
    for (const Operation operation : operations)
      sum += speed.seconds[static_cast<std::size_t>(operation)];
    return sum;
  };
  const double products =
      seconds({Operation::linear, Operation::linear_backward, Operation::head_loss});
  const double attention = seconds({Operation::attention, Operation::attention_backward});
  const double update = seconds(
      {Operation::adamw, Operation::adamw_8bit, Operation::muon, Operation::sum_of_squares});
  Limit limits[] = {
      {PlanEstimate::tr("Matrix products"), products},
      {PlanEstimate::tr("Attention"), attention},
      {PlanEstimate::tr("The update"), update},
      {PlanEstimate::tr("Memory traffic"), speed.step_seconds - products - attention - update}};
  Limit most = *std::max_element(std::begin(limits), std::end(limits),
                                 [](const Limit& a, const Limit& b) { return a.share < b.share; });
  most.share /= speed.step_seconds;
  return most;
}

}  // namespace

PlanEstimate::PlanEstimate(QWidget* parent)
    : QWidget(parent),
      m_icon(new ToneIcon(20)),
      m_word(makeLabel({}, FontRole::figureSmall)),
      m_sentence(makeSentence({}, FontRole::emphasis)),
      m_sum(makeLabel({}, FontRole::note, Tone::muted)),
      m_bar(new MemoryBar),
      m_offloaded(makeSentence({}, FontRole::note, Tone::muted)),
      m_speed(new Figure(tr("Predicted speed"))),
      m_step(new Figure(tr("One step"))),
      m_time(new Figure(tr("Time to finish"))),
      m_limit(new Figure(tr("Limited by"))),
      m_fastest(new ProposalCard(tr("Fastest"))),
      m_balanced(new ProposalCard(tr("Balanced"))),
      m_leanest(new ProposalCard(tr("Leanest"))),
      m_course(new PlanCourse) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(makeMemoryCard());
  m_figures = makeFigures();
  layout->addWidget(m_figures);
  m_proposals = makeProposals();
  layout->addWidget(m_proposals);
  layout->addWidget(m_course, 1);
  connect(m_course, &PlanCourse::exportFailed, this, &PlanEstimate::exportFailed);
}

Card* PlanEstimate::makeMemoryCard() {
  auto* card = new Card;
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(m_icon);
  row->addWidget(m_word);
  row->addWidget(m_sentence, 1);
  row->addWidget(m_sum);
  card->content()->addLayout(row);
  card->content()->addWidget(m_bar);
  m_offloaded->setObjectName("offloaded");
  m_offloaded->hide();
  card->content()->addWidget(m_offloaded);
  return card;
}

Card* PlanEstimate::makeFigures() {
  auto* card = new Card;
  auto* row = new QHBoxLayout;
  row->setSpacing(16);
  for (Figure* figure : {m_speed, m_step, m_time, m_limit}) {
    if (figure != m_speed) {
      row->addWidget(new Divider(Qt::Vertical));
    }
    row->addWidget(figure, 1);
  }
  card->content()->addLayout(row);
  return card;
}

QWidget* PlanEstimate::makeProposals() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  for (ProposalCard* card : {m_fastest, m_balanced, m_leanest}) {
    layout->addWidget(card, 1);
    connect(card, &ProposalCard::applied, this, &PlanEstimate::applied);
  }
  row->hide();
  return row;
}

void PlanEstimate::showEstimate(const Estimate& estimate, const QString& problem) {
  // Figures of settings that cannot be used are those from before.
  const bool usable = estimate.need.has_value();
  for (QWidget* part : {static_cast<QWidget*>(m_bar), static_cast<QWidget*>(m_figures), m_proposals,
                        static_cast<QWidget*>(m_course)}) {
    part->setEnabled(usable);
  }
  if (!usable) {
    showVerdict(Verdict::unusable, problem.isEmpty() ? tr("See the marked field.") : problem);
    m_sum->clear();
    m_offloaded->hide();
    return;
  }
  showNeed(estimate);
  showOffloaded(estimate);
  showFigures(estimate);
  showProposals(estimate);
  m_course->showPlan(estimate.spec.train, estimate.need->plan);
}

QString PlanEstimate::sentence() const {
  return m_sentence->text();
}

void PlanEstimate::showVerdict(Verdict verdict, const QString& sentence) {
  m_verdict = verdict;
  const Look look = lookOf(verdict);
  m_icon->setIcon(look.icon, look.tone);
  m_word->setText(look.word);
  setTone(m_word, look.tone);
  m_sentence->setText(sentence);
}

void PlanEstimate::showNeed(const Estimate& estimate) {
  const RunEstimate& need = *estimate.need;
  const std::int64_t reserve_bytes = estimate.reserve_bytes;
  const std::int64_t planned = need.plan.memory.peak_bytes;
  const std::int64_t left = need.available_bytes - reserve_bytes - planned;
  if (!need.fits) {
    const QString much = formatBytes(-left);
    showVerdict(Verdict::doesNotFit,
                estimate.ways && estimate.ways->fastest
                    ? tr("%1 too much; a proposal below fits.").arg(much)
                    : tr("%1 too much. A smaller micro-batch or context needs less.").arg(much));
  } else {
    showVerdict(left < kTight_bytes ? Verdict::tight : Verdict::fits,
                reserve_bytes > 0
                    ? tr("%1 left beside the desktop's reserve").arg(formatBytes(left))
                    : tr("%1 left").arg(formatBytes(left)));
  }
  const QString free = formatBytes(need.available_bytes);
  m_sum->setText(estimate.card ? tr("%1 planned of %2 on the card").arg(formatBytes(planned), free)
                               : tr("%1 planned of %2 free").arg(formatBytes(planned), free));
  MemoryBarData memory{
      .segments = segmentsOf(std::to_array(need.plan.memory.by_role)),
      .capacity_bytes = estimate.card ? estimate.card->memory_bytes : need.capacity_bytes,
      .free_bytes = need.available_bytes,
      .reserve_bytes = reserve_bytes};
  if (estimate.card) {
    memory.free_name = tr("usable");
    memory.others_name = tr("CUDA itself");
  }
  m_bar->setData(memory);
}

void PlanEstimate::showOffloaded(const Estimate& estimate) {
  const TrainPlan& plan = estimate.need->plan;
  const std::int64_t bytes = plan.host.peak_bytes;
  m_offloaded->setVisible(bytes > 0);
  if (bytes == 0) return;
  const bool room = !estimate.drive_free_bytes || *estimate.drive_free_bytes >= bytes;
  const QString much = formatBytes(bytes);
  if (estimate.onCard) {
    m_offloaded->setText(tr("%1 in the computer's own memory").arg(much));
  } else if (room) {
    m_offloaded->setText(tr("%1 in a file of the run's folder").arg(much));
  } else {
    m_offloaded->setText(
        tr("%1 in a file of the run's folder, but its drive has %2 free. Make room "
           "there, or offload less.")
            .arg(much, formatBytes(*estimate.drive_free_bytes)));
  }
  setTone(m_offloaded, room ? Tone::muted : Tone::warning);
  QStringList parts;
  for (const BufferGroup& part : groups_of(plan.host_buffers))
    parts << tr("%1: %2").arg(QString::fromStdString(part.name), formatBytes(part.bytes));
  m_offloaded->setToolTip(parts.join('\n'));
  m_offloaded->setAccessibleDescription(parts.join(", "));
}

void PlanEstimate::showFigures(const Estimate& estimate) {
  const RunSpec& spec = estimate.spec;
  const Operations one = scaled(estimate.need->plan.step_flops());
  m_step->setNote(tr("%1 tokens, %2 %3")
                      .arg(formatThousands(spec.train.tokens_per_step(spec.model.context)),
                           one.figure, one.unit));
  m_time->setNote(tr("%1 steps").arg(formatThousands(spec.train.steps)));
  if (estimate.speed) {
    showSpeed(spec, *estimate.speed, estimate.card.has_value());
    return;
  }
  for (Figure* figure : {m_speed, m_step, m_time, m_limit})
    figure->setValue(noValue());
  m_speed->setNote(tr("not measured yet"));
  m_limit->setNote(tr("of a step"));
}

void PlanEstimate::showSpeed(const RunSpec& spec, const Throughput& speed, bool elsewhere) {
  m_speed->setValue(formatThousands(std::llround(speed.tokens_per_second)), tr("tokens/s"));
  m_speed->setNote(elsewhere ? tr("estimated for the card") : tr("measured here"));
  m_step->setValue(formatDuration(speed.step_seconds));
  m_time->setValue(formatDuration(speed.step_seconds * static_cast<double>(spec.train.steps)));
  const Limit limit = limitOf(speed);
  m_limit->setValue(limit.word);
  m_limit->setNote(tr("%1 of a step").arg(formatPercent(limit.share, 0)));
}

void PlanEstimate::showProposals(const Estimate& estimate) {
  m_speedKnown = estimate.ways.has_value();
  m_proposals->setVisible(m_speedKnown);
  if (!estimate.ways) return;
  const Proposals& ways = *estimate.ways;
  const Proposal present{.train = estimate.spec.train,
                         .peak_bytes = estimate.need->plan.memory.peak_bytes,
                         .speed = *estimate.speed};
  const auto show = [&](ProposalCard* card, const Proposal& way) {
    card->showProposal(way, present, estimate.spec.model,
                       estimate.need->available_bytes - estimate.reserve_bytes);
  };
  m_fastest->setVisible(ways.fastest.has_value());
  m_balanced->setVisible(ways.balanced.has_value());
  if (ways.fastest) show(m_fastest, *ways.fastest);
  if (ways.balanced) show(m_balanced, *ways.balanced);
  show(m_leanest, ways.leanest);
}

}  // namespace athanor
