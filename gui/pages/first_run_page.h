// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a new user sees: the machine, and one button that trains the demo.

#include <QWidget>
#include <filesystem>

namespace athanor {

class DeviceChoice;

class FirstRunPage : public QWidget {
  Q_OBJECT
 public:
  FirstRunPage(const std::filesystem::path& home, DeviceChoice* choice, QWidget* parent = nullptr);

 signals:
  void demoRequested();
  void planRequested();
  void dataRequested();
  void importRequested(const QString& path);

 private:
  QWidget* makeWelcome();
  QWidget* makeSteps();
};

}  // namespace athanor
