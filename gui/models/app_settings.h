// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What the window remembers, in <home>/settings.ini; each change is written at once.

#include <QByteArray>
#include <QObject>
#include <QSettings>
#include <filesystem>

#include "widgets/theme.h"

namespace athanor {

enum class AppearanceChoice { system, light, dark };

class AppSettings : public QObject {
  Q_OBJECT
 public:
  explicit AppSettings(const std::filesystem::path& home, QObject* parent = nullptr);

  AppearanceChoice appearance() const;
  void setAppearance(AppearanceChoice choice);
  /// The choice, or what the desktop prefers.
  Appearance effectiveAppearance() const;

  int threads() const;  ///< 0: as many as the process may use
  void setThreads(int threads);

  QString device() const;  ///< Device::id; empty: the best
  void setDevice(const QString& id);

  /// Memory that a plan leaves to the desktop; half a GiB unless chosen.
  qint64 reserve_bytes() const;
  void setReserve(qint64 bytes);

  /// Where new folders of exported models are made; the user's documents unless chosen.
  QString exportFolder() const;
  void setExportFolder(const QString& folder);

  QByteArray geometry() const;
  void setGeometry(const QByteArray& geometry);
  QByteArray windowState() const;
  void setWindowState(const QByteArray& state);

 signals:
  void appearanceChanged();
  void threadsChanged(int threads);

 private:
  QSettings m_settings;
};

}  // namespace athanor
