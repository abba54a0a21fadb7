// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The line at the bottom that is always there: what is trained and how far, device, memory, Stop.

#include <QWidget>

#include "gui/run/run_controller.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace athanor {

class DeviceChoice;
class DeviceMonitor;
struct DeviceSample;
class ElidedLabel;
class MemoryBar;
class NumberLabel;
class ToneIcon;

class StatusStrip : public QWidget {
  Q_OBJECT
 public:
  StatusStrip(RunController* controller, DeviceChoice* choice, DeviceMonitor* monitor,
              QWidget* parent = nullptr);

 signals:
  /// The user wants to see the run.
  void runRequested();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  void connectController();
  void updateState();
  void updateFigures();
  void updateDevice();
  void fit();
  void showMemory(const DeviceSample& sample);

  RunController* m_controller;
  DeviceChoice* m_choice;
  ToneIcon* m_icon;
  QLabel* m_state;
  QLabel* m_message;
  NumberLabel* m_step;
  QProgressBar* m_progress;
  NumberLabel* m_loss;
  NumberLabel* m_speed;
  NumberLabel* m_left;
  QLabel* m_deviceWord;
  QLabel* m_device;
  ToneIcon* m_unusedIcon;
  ElidedLabel* m_unused;
  QLabel* m_memoryWord;
  MemoryBar* m_memoryBar;
  NumberLabel* m_memory;
  QPushButton* m_stop;
};

}  // namespace athanor
