// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/app_settings.h"

#include <QDir>
#include <QStandardPaths>
#include <algorithm>

namespace athanor {
namespace {

constexpr int kMostThreads = 1024;

}  // namespace

AppSettings::AppSettings(const std::filesystem::path& home, QObject* parent)
    : QObject(parent),
      m_settings(QString::fromStdString((home / "settings.ini").string()), QSettings::IniFormat) {}

AppearanceChoice AppSettings::appearance() const {
  const QString word = m_settings.value("appearance").toString();
  if (word == "light") return AppearanceChoice::light;
  if (word == "dark") return AppearanceChoice::dark;
  return AppearanceChoice::system;
}

void AppSettings::setAppearance(AppearanceChoice choice) {
  if (choice == appearance()) return;
  const char* words[] = {"system", "light", "dark"};
  m_settings.setValue("appearance", words[static_cast<int>(choice)]);
  emit appearanceChanged();
}

Appearance AppSettings::effectiveAppearance() const {
  switch (appearance()) {
    case AppearanceChoice::light:
      return Appearance::light;
    case AppearanceChoice::dark:
      return Appearance::dark;
    case AppearanceChoice::system:
      break;
  }
  return systemAppearance();
}

int AppSettings::threads() const {
  return std::clamp(m_settings.value("threads", 0).toInt(), 0, kMostThreads);
}

void AppSettings::setThreads(int threads) {
  if (threads == this->threads()) return;
  m_settings.setValue("threads", threads);
  emit threadsChanged(threads);
}

QString AppSettings::device() const {
  return m_settings.value("device").toString();
}

void AppSettings::setDevice(const QString& id) {
  m_settings.setValue("device", id);
}

QByteArray AppSettings::geometry() const {
  return m_settings.value("window/geometry").toByteArray();
}

void AppSettings::setGeometry(const QByteArray& geometry) {
  m_settings.setValue("window/geometry", geometry);
}

qint64 AppSettings::reserve_bytes() const {
  constexpr qint64 kUsual_bytes = qint64{1} << 29;
  bool good = false;
  const qint64 bytes = m_settings.value("memory/reserve").toLongLong(&good);
  return good && bytes >= 0 ? bytes : kUsual_bytes;
}

void AppSettings::setReserve(qint64 bytes) {
  m_settings.setValue("memory/reserve", bytes);
}

QString AppSettings::exportFolder() const {
  const QString usual = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
  for (const QString& folder : {m_settings.value("export/folder").toString(), usual})
    if (!folder.isEmpty() && QDir(folder).exists()) return folder;
  return QDir::homePath();
}

void AppSettings::setExportFolder(const QString& folder) {
  m_settings.setValue("export/folder", folder);
}

QByteArray AppSettings::windowState() const {
  return m_settings.value("window/state").toByteArray();
}

void AppSettings::setWindowState(const QByteArray& state) {
  m_settings.setValue("window/state", state);
}

}  // namespace athanor
