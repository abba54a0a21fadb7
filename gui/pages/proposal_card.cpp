// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/proposal_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <cmath>

#include "gui/pages/memory_roles.h"
#include "widgets/buttons.h"
#include "widgets/figure.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/memory_bar.h"

namespace athanor {
namespace {

/// A change of speed that reads as 0.0 %.
constexpr double kNothing = 5e-4;
constexpr int kBar_px = 8;

bool sameWay(const TrainConfig& a, const TrainConfig& b) {
  return a.micro_batch == b.micro_batch && a.gradient_accumulation == b.gradient_accumulation &&
         a.recompute_level == b.recompute_level &&
         a.recompute_further_layers == b.recompute_further_layers &&
         a.head_chunk_tokens == b.head_chunk_tokens && a.offload_moments == b.offload_moments &&
         a.offload_master == b.offload_master && a.offload_gradients == b.offload_gradients;
}

double gainOf(const Proposal& proposal, const Proposal& present) {
  return proposal.speed.tokens_per_second / present.speed.tokens_per_second - 1;
}

/// What changing to it costs and brings.
QString tradeOf(const Proposal& proposal, const Proposal& present) {
  const std::int64_t more = proposal.peak_bytes - present.peak_bytes;
  const double gain = gainOf(proposal, present);
  const QString percent = formatPercent(std::abs(gain));
  const QString bytes = formatBytes(more < 0 ? -more : more);
  if (more > 0 && gain > 0) return ProposalCard::tr("%1 more buys %2.").arg(bytes, percent);
  if (more > 0) return ProposalCard::tr("%1 more than now.").arg(bytes);
  if (more == 0) return ProposalCard::tr("As much memory as now.");
  if (gain > -kNothing) return ProposalCard::tr("Frees %1 at no loss of speed.").arg(bytes);
  return ProposalCard::tr("Frees %1 for %2 less speed.").arg(bytes, percent);
}

}  // namespace

ProposalCard::ProposalCard(const QString& name, QWidget* parent)
    : Card(name, parent),
      m_speed(new Figure({})),
      m_bar(new MemoryBar),
      m_memory(makeLabel({}, FontRole::emphasis)),
      m_left(makeLabel({}, FontRole::note, Tone::muted)),
      m_settings(makeSentence({}, FontRole::note)),
      m_trade(makeSentence({}, FontRole::note, Tone::muted)),
      m_apply(plainButton(tr("Apply"))) {
  auto* memory = new QHBoxLayout;
  memory->addWidget(m_memory);
  memory->addStretch(1);
  memory->addWidget(m_left);
  content()->setSpacing(4);
  m_bar->setCompact(kBar_px);
  content()->addWidget(m_speed);
  content()->addWidget(m_bar);
  content()->addLayout(memory);
  content()->addWidget(m_settings);
  content()->addWidget(m_trade);
  content()->addStretch(1);
  addHeaderWidget(m_apply);
  m_apply->setAccessibleName(tr("Apply %1").arg(name));
  connect(m_apply, &QPushButton::clicked, this, [this] { emit applied(m_train); });
}

void ProposalCard::showProposal(const Proposal& proposal, const Proposal& present,
                                const ModelConfig& model, std::int64_t free_bytes) {
  m_train = proposal.train;
  const bool inUse = sameWay(proposal.train, present.train);
  const double gain = gainOf(proposal, present);
  const std::int64_t left = free_bytes - proposal.peak_bytes;
  m_speed->setValue(formatThousands(std::llround(proposal.speed.tokens_per_second)),
                    tr("tokens/s"));
  m_memory->setText(formatBytes(proposal.peak_bytes));
  m_bar->setData({.segments = segmentsOf(proposal.by_role),
                  .capacity_bytes = free_bytes,
                  .free_bytes = free_bytes,
                  .reserve_bytes = 0});
  m_bar->setAccessibleName(tr("Memory of this way"));
  m_left->setText(left >= 0 ? tr("%1 left").arg(formatBytes(left))
                            : tr("%1 too much").arg(formatBytes(-left)));
  QString settings = QString::fromStdString(describe(proposal, model));
  settings[0] = settings[0].toUpper();
  m_settings->setText(settings);
  m_trade->setText(inUse ? tr("This is how it is set.") : tradeOf(proposal, present));
  setNote(std::abs(gain) < kNothing ? QString()
                                    : (gain > 0 ? "+" : "−") + formatPercent(std::abs(gain)));
  m_apply->setText(inUse ? tr("In use") : tr("Apply"));
  m_apply->setEnabled(!inUse);
  setHighlighted(inUse);
}

}  // namespace athanor
