// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a run would need and how fast it would go, found beside the window's thread; only the
/// newest question is answered.

#include <QObject>
#include <QString>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/planner/cards.h"
#include "engine/planner/rehearsal.h"
#include "engine/planner/search.h"
#include "engine/session/training_session.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

/// What another choice would take; `tokens_per_second` 0 where that is not known.
struct ChoiceCost {
  std::int64_t peak_bytes = 0;
  double tokens_per_second = 0;
};

struct Estimate {
  RunSpec spec;
  std::optional<GraphicsCard> card;  ///< that it was planned for; else this machine
  bool onCard = false;               ///< that one, or one of this machine's own
  bool fp8 = false;                  ///< whether what it was planned for multiplies in it
  std::optional<RunEstimate> need;   ///< absent when the settings cannot be used
  QString problem;                   ///< why not; names the field as the spec does
  std::int64_t reserve_bytes = 0;    ///< of what is free, left to the desktop
  /// Of the drive that what is offloaded would go to; absent when nothing is, or it does not tell.
  std::optional<std::int64_t> drive_free_bytes;
  /// Absent until this machine has been measured; a card's is known from its maker.
  std::optional<Throughput> speed;
  std::optional<Proposals> ways;
  /// Of each alternative (setAlternatives); absent where it cannot be used.
  std::vector<std::optional<ChoiceCost>> alternatives;
};

class Estimator : public QObject {
  Q_OBJECT
 public:
  explicit Estimator(std::filesystem::path home, QObject* parent = nullptr);
  ~Estimator() override;

  /// Answered twice when the machine's speed becomes known in between.
  void ask(const RunSpec& spec);
  /// For the questions from now on, like the next two.
  void setReserve(std::int64_t bytes) { m_reserve_bytes = bytes; }
  void setBackend(const BackendOptions& options) { m_backend = options; }
  void setCard(const std::optional<GraphicsCard>& card) { m_card = card; }
  /// What else each answer looks at; called on another thread.
  using Alternatives = std::function<std::vector<RunSpec>(const RunSpec&)>;
  void setAlternatives(Alternatives alternatives) { m_alternatives = std::move(alternatives); }
  bool busy() const { return m_busy; }
  /// Measures the device once, unless it was before. Takes about a second of all its threads,
  /// so not while it trains: stopMeasuring() then. Asked again meanwhile, it looks again at its
  /// end whether there is anything left to measure.
  void measure(const BackendOptions& options);
  /// The rehearsal too.
  void stopMeasuring();
  void stopRehearsing();
  /// Runs one step for real; told by rehearsed(). One at a time.
  void rehearse(const RunSpec& spec, const BackendOptions& options);
  bool rehearsing() const { return m_rehearsing; }

 signals:
  void answered(const athanor::Estimate& estimate);
  /// `problem` is empty when it succeeded or was stopped, which leaves `rehearsal` empty.
  void rehearsed(const std::optional<athanor::Rehearsal>& rehearsal, const QString& problem);

 private:
  void work(const RunSpec& spec);
  void receive(const Estimate& estimate);
  void takeSpeed(std::shared_ptr<const DeviceSpeed> speed, const BackendOptions& options);
  std::shared_ptr<const DeviceSpeed> speedOfDevice() const;

  std::filesystem::path m_home;
  std::int64_t m_reserve_bytes = 0;
  BackendOptions m_backend;
  std::optional<GraphicsCard> m_card;
  Alternatives m_alternatives = [](const RunSpec&) { return std::vector<RunSpec>(); };
  bool m_busy = false;
  bool m_measuring = false;
  std::optional<BackendOptions> m_measureNext;  ///< asked while another goes on
  bool m_rehearsing = false;
  std::optional<BackendOptions> m_measured;  ///< what m_speed is of
  std::optional<RunSpec> m_asked;            ///< the last question
  std::optional<RunSpec> m_next;             ///< asked while another question was worked on
  std::shared_ptr<const DeviceSpeed> m_speed;
  std::shared_ptr<CancelToken> m_cancel;
  std::shared_ptr<CancelToken> m_rehearsal;
  Inbox m_inbox;
  TaskThread m_gauge;
  TaskThread m_thread;
};

}  // namespace athanor
