// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One way to train the same steps: its speed and memory, what it trades, and Apply.

#include "engine/planner/search.h"
#include "widgets/card.h"

class QLabel;
class QPushButton;

namespace athanor {

class Figure;
class MemoryBar;

class ProposalCard : public Card {
  Q_OBJECT
 public:
  explicit ProposalCard(const QString& name, QWidget* parent = nullptr);

  /// `present` is how the fields have it now, `free_bytes` what a run may take.
  void showProposal(const Proposal& proposal, const Proposal& present, const ModelConfig& model,
                    std::int64_t free_bytes);

 signals:
  void applied(const athanor::TrainConfig& train);

 private:
  TrainConfig m_train;
  Figure* m_speed;
  MemoryBar* m_bar;
  QLabel* m_memory;
  QLabel* m_left;
  QLabel* m_settings;
  QLabel* m_trade;
  QPushButton* m_apply;
};

}  // namespace athanor
