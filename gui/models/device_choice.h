// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What this machine can train on, looked for beside the window's thread, and which of it is used.

#include <QObject>
#include <QString>
#include <optional>

#include "engine/backend/registry.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

class AppSettings;

class DeviceChoice : public QObject {
  Q_OBJECT
 public:
  /// Begins to look. `settings` remembers what was chosen.
  explicit DeviceChoice(AppSettings* settings, QObject* parent = nullptr);

  /// Empty until they are found.
  const std::optional<Devices>& devices() const { return m_devices; }
  /// What is used from the next run on: what was chosen or, where that cannot be used, the best;
  /// null until the devices are found.
  const Device* device() const;
  /// To be used, for BackendOptions; before devices are found, what was chosen before.
  std::string id() const;
  /// Short; the processor's until the devices are found.
  QString name() const;
  /// A sentence when a card was found but cannot be used, and the processor is used; else empty.
  QString unusedCard() const;

  /// Remembered in the settings.
  void choose(const QString& id);
  /// What was found.
  void take(const Devices& devices);

 signals:
  /// Of device() or of what is known of it.
  void changed();

 private:
  AppSettings* m_settings;
  std::optional<Devices> m_devices;
  Inbox m_inbox;
  TaskThread m_thread;
};

/// A device's name, "AMD Ryzen 7 5800X" or "RTX 3070 Ti", without makers' marks and clocks.
QString shortDeviceName(const std::string& name);

}  // namespace athanor
