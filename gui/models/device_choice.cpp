// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/device_choice.h"

#include <QRegularExpression>

#include "engine/base/machine.h"
#include "gui/models/app_settings.h"

namespace athanor {

DeviceChoice::DeviceChoice(AppSettings* settings, QObject* parent)
    : QObject(parent), m_settings(settings), m_thread("devices") {
  m_thread.post([this] {
    const Devices& found = find_devices();
    m_inbox.post([this, &found] { take(found); });
  });
}

void DeviceChoice::take(const Devices& devices) {
  m_devices = devices;
  emit changed();
}

const Device* DeviceChoice::device() const {
  if (!m_devices) return nullptr;
  const Device* chosen = m_devices->find(m_settings->device().toStdString());
  return chosen != nullptr && chosen->usable() ? chosen : &m_devices->best();
}

std::string DeviceChoice::id() const {
  return m_devices ? device()->id : m_settings->device().toStdString();
}

QString DeviceChoice::name() const {
  return shortDeviceName(m_devices ? device()->name : processor_name());
}

QString DeviceChoice::unusedCard() const {
  if (!m_devices) return {};
  QString sentence = QString::fromStdString(m_devices->unused_card(*device()));
  for (const Device& each : m_devices->list)
    sentence.replace(QString::fromStdString(each.name), shortDeviceName(each.name));
  return sentence;
}

void DeviceChoice::choose(const QString& id) {
  if (id == m_settings->device()) return;
  m_settings->setDevice(id);
  emit changed();
}

QString shortDeviceName(const std::string& name) {
  static const QRegularExpression marks(
      R"(\((R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|@.*$|\d+-Core|^NVIDIA (GeForce )?(?=\S))");
  QString shortened = QString::fromStdString(name);
  shortened.remove(marks);
  shortened = shortened.simplified();
  return shortened.isEmpty() ? DeviceChoice::tr("This processor") : shortened;
}

}  // namespace athanor
