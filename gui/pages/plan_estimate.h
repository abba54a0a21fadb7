// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a planned run would take: verdict in words, memory bar, sizes, learning rate over the run.

#include <QWidget>

#include "gui/run/estimator.h"

class QLabel;

namespace athanor {

class Card;
class Figure;
class MemoryBar;
class PlanCourse;
class ProposalCard;
class ToneIcon;

class PlanEstimate : public QWidget {
  Q_OBJECT
 public:
  enum class Verdict { fits, tight, doesNotFit, unusable };

  explicit PlanEstimate(QWidget* parent = nullptr);

  /// `problem` is why the settings cannot be used, when no field shows it.
  void showEstimate(const Estimate& estimate, const QString& problem);
  Verdict verdict() const { return m_verdict; }
  /// Whether speeds and proposals are shown.
  bool speedKnown() const { return m_speedKnown; }
  /// "1.20 GiB left", or why it does not fit; the reason that Start is disabled.
  QString sentence() const;

 signals:
  void applied(const athanor::TrainConfig& train);
  void exportFailed(const QString& reason);

 private:
  Card* makeMemoryCard();
  Card* makeFigures();
  QWidget* makeProposals();
  void showVerdict(Verdict verdict, const QString& sentence);
  void showNeed(const Estimate& estimate);
  void showOffloaded(const Estimate& estimate);
  void showFigures(const Estimate& estimate);
  void showSpeed(const RunSpec& spec, const Throughput& speed, bool elsewhere);
  void showProposals(const Estimate& estimate);

  Verdict m_verdict = Verdict::unusable;
  bool m_speedKnown = false;
  ToneIcon* m_icon;
  QLabel* m_word;
  QLabel* m_sentence;
  QLabel* m_sum;
  MemoryBar* m_bar;
  QLabel* m_offloaded;
  Figure* m_speed;
  Figure* m_step;
  Figure* m_time;
  Figure* m_limit;
  Card* m_figures;
  QWidget* m_proposals;
  ProposalCard* m_fastest;
  ProposalCard* m_balanced;
  ProposalCard* m_leanest;
  PlanCourse* m_course;
};

}  // namespace athanor
