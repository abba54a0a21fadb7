// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/device_monitor.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/machine.h"

namespace athanor {
namespace {

constexpr int kPoll_ms = 1000;

}  // namespace

struct DeviceMonitor::Clock {
  Stopwatch since_start;
  std::optional<double> last_seconds;
  double last_busy_seconds = 0;

  DeviceSample sample(const std::string& uuid) {
    const std::int64_t own = resident_bytes();
    const std::int64_t total = total_memory_bytes();
    DeviceSample now{.seconds = since_start.seconds(),
                     .resident_bytes = own,
                     .total_bytes = total,
                     .available_bytes = std::min(total - own, available_memory_bytes())};
    const double busy_seconds = processor_seconds();
    if (last_seconds && now.seconds > *last_seconds) {
      now.cores = (busy_seconds - last_busy_seconds) / (now.seconds - *last_seconds);
    }
    last_seconds = now.seconds;
    last_busy_seconds = busy_seconds;
    if (!uuid.empty()) now.card = nvml().read(uuid);
    return now;
  }
};

DeviceMonitor::DeviceMonitor(QObject* parent)
    : QObject(parent), m_clock(std::make_shared<Clock>()), m_thread("monitor") {
  m_timer.setInterval(kPoll_ms);
  connect(&m_timer, &QTimer::timeout, this, &DeviceMonitor::ask);
  m_timer.start();
  ask();
}

void DeviceMonitor::watch(const std::string& uuid) {
  if (uuid == m_uuid) return;
  m_uuid = uuid;
  ask();
}

void DeviceMonitor::ask() {
  // A driver that takes longer is asked less often.
  if (m_asking) return;
  m_asking = true;
  m_thread.post([this, clock = m_clock, uuid = m_uuid] {
    m_inbox.post([this, sample = clock->sample(uuid), uuid] {
      m_asking = false;
      if (uuid == m_uuid) emit sampled(sample);
    });
  });
}

}  // namespace athanor
