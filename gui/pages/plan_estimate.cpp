// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/plan_estimate.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>

#include "engine/base/machine.h"
#include "gui/pages/divider.h"
#include "gui/pages/tone_icon.h"
#include "widgets/card.h"
#include "widgets/figure.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"
#include "widgets/small_plot.h"

namespace athanor {
namespace {

constexpr std::int64_t kTight_bytes = 3LL * (1LL << 30) / 10;
constexpr int kRatePoints = 200;
constexpr int kCourse_px = 140;

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

struct RoleLook {
  MemoryRole role;
  const char* name;
  int series;
};

constexpr RoleLook kRoles[] = {
    {MemoryRole::weights, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Weights"), 2},
    {MemoryRole::gradients, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Gradients"), 3},
    {MemoryRole::optimizer, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Optimizer"), 5},
    {MemoryRole::activations, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Activations"), 1},
    {MemoryRole::logits, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Logits"), 7},
    {MemoryRole::workspace, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Workspace"), 6},
    {MemoryRole::batch, QT_TRANSLATE_NOOP("athanor::PlanEstimate", "Batch"), 8},
};

}  // namespace

PlanEstimate::PlanEstimate(QWidget* parent)
    : QWidget(parent),
      m_icon(new ToneIcon(20)),
      m_word(makeLabel({}, FontRole::figureSmall)),
      m_sentence(makeSentence({}, FontRole::emphasis)),
      m_sum(makeLabel({}, FontRole::note, Tone::muted)),
      m_bar(new MemoryBar),
      m_parameters(new Figure(tr("Parameters"))),
      m_tokens(new Figure(tr("Tokens in all"))),
      m_perStep(new Figure(tr("Tokens per step"))),
      m_work(new Figure(tr("Work in all"))),
      m_course(new Card),
      m_rate(new SmallPlot(tr("Learning rate"), 4, formatLearningRate)) {
  m_rate->setFilled(true);
  m_course->content()->addWidget(m_rate, 1);
  m_course->setMinimumHeight(kCourse_px);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(makeMemoryCard());
  m_figures = makeFigures();
  layout->addWidget(m_figures);
  layout->addWidget(m_course, 1);
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
  return card;
}

Card* PlanEstimate::makeFigures() {
  auto* card = new Card;
  auto* row = new QHBoxLayout;
  row->setSpacing(16);
  for (Figure* figure : {m_parameters, m_tokens, m_perStep, m_work}) {
    if (figure != m_parameters) {
      row->addWidget(new Divider(Qt::Vertical));
    }
    row->addWidget(figure, 1);
  }
  card->content()->addLayout(row);
  return card;
}

void PlanEstimate::showEstimate(const Estimate& estimate, const QString& problem) {
  // Figures of settings that cannot be used are those from before.
  const bool usable = estimate.need.has_value();
  for (QWidget* part : {static_cast<QWidget*>(m_bar), static_cast<QWidget*>(m_figures),
                        static_cast<QWidget*>(m_course)}) {
    part->setEnabled(usable);
  }
  if (!usable) {
    showVerdict(Verdict::unusable, problem.isEmpty() ? tr("See the marked field.") : problem);
    m_sum->clear();
    return;
  }
  showNeed(*estimate.need);
  showFigures(estimate.spec, estimate.need->plan);
  showRate(estimate.spec.train);
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

void PlanEstimate::showNeed(const RunEstimate& need) {
  const std::int64_t planned = need.plan.memory.peak_bytes;
  const std::int64_t left = need.available_bytes - planned;
  if (!need.fits) {
    showVerdict(
        Verdict::doesNotFit,
        tr("%1 too much. A smaller micro-batch or context needs less.").arg(formatBytes(-left)));
  } else {
    showVerdict(left < kTight_bytes ? Verdict::tight : Verdict::fits,
                tr("%1 left").arg(formatBytes(left)));
  }
  m_sum->setText(
      tr("%1 planned of %2 free").arg(formatBytes(planned), formatBytes(need.available_bytes)));
  MemoryBarData memory{
      .segments = {}, .capacity_bytes = total_memory_bytes(), .free_bytes = need.available_bytes};
  for (const RoleLook& role : kRoles)
    memory.segments.push_back({tr(role.name), need.plan.memory.of(role.role), role.series});
  m_bar->setData(memory);
}

void PlanEstimate::showFigures(const RunSpec& spec, const TrainPlan& plan) {
  const std::int64_t perStep = spec.train.tokens_per_step(spec.model.context);
  const double tokens = static_cast<double>(perStep) * static_cast<double>(spec.train.steps);
  m_parameters->setValue(formatCount(static_cast<double>(plan.parameters)));
  m_parameters->setNote(tr("%1 of weights").arg(formatBytes(plan.memory.of(MemoryRole::weights))));
  m_tokens->setValue(formatCount(tokens));
  m_tokens->setNote(
      tr("%1 a parameter").arg(formatFixed(tokens / static_cast<double>(plan.parameters), 1)));
  m_perStep->setValue(formatThousands(perStep));
  m_perStep->setNote(
      tr("%1 sequences of %2")
          .arg(formatThousands(spec.train.micro_batch * spec.train.gradient_accumulation),
               formatThousands(spec.model.context)));
  const Operations all = scaled(plan.step_flops() * static_cast<double>(spec.train.steps));
  const Operations one = scaled(plan.step_flops());
  m_work->setValue(all.figure, all.unit);
  m_work->setNote(tr("%1 %2 a step").arg(one.figure, one.unit));
}

void PlanEstimate::showRate(const TrainConfig& train) {
  QVector<PlotPoint> points;
  const std::int64_t count = std::min<std::int64_t>(train.steps, kRatePoints);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step =
        count < 2 ? 1
                  : 1 + static_cast<std::int64_t>(static_cast<double>(i) * (train.steps - 1) /
                                                  static_cast<double>(count - 1));
    points.push_back({.step = static_cast<double>(step), .value = learning_rate_at(train, step)});
  }
  m_rate->setSeries(points);
  m_rate->setNote(tr("highest %1").arg(formatLearningRate(train.learning_rate)));
}

}  // namespace athanor
