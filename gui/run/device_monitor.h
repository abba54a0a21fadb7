// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What device and program say of themselves, once a second, read beside the window's thread.

#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>

#include "engine/backend/cuda/nvml.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

struct DeviceSample {
  double seconds = 0;  ///< on a clock that runs forward
  std::int64_t resident_bytes = 0;
  std::int64_t total_bytes = 0;      ///< of the computer's memory, like the next
  std::int64_t available_bytes = 0;  ///< without what this process holds
  std::optional<double> cores;       ///< that this process used since the sample before
  std::optional<CardReading> card;   ///< of the card that is watched, if one is
};

class DeviceMonitor : public QObject {
  Q_OBJECT
 public:
  explicit DeviceMonitor(QObject* parent = nullptr);

  /// The card with this UUID (Device::uuid) from now on; empty: the processor.
  void watch(const std::string& uuid);

 signals:
  void sampled(const athanor::DeviceSample& sample);

 private:
  struct Clock;
  void ask();

  std::string m_uuid;
  bool m_asking = false;
  QTimer m_timer;
  std::shared_ptr<Clock> m_clock;  ///< used on m_thread alone
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
