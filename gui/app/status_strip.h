// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The line at the bottom that is always there: what is trained and how far, device, memory, Stop.

#include <QTimer>
#include <QWidget>

#include "gui/run/run_controller.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace athanor {

class MemoryBar;
class NumberLabel;
class ToneIcon;

class StatusStrip : public QWidget {
  Q_OBJECT
 public:
  explicit StatusStrip(RunController* controller, QWidget* parent = nullptr);

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
  void updateMemory();

  RunController* m_controller;
  ToneIcon* m_icon;
  QLabel* m_state;
  QLabel* m_message;
  NumberLabel* m_step;
  QProgressBar* m_progress;
  NumberLabel* m_loss;
  NumberLabel* m_speed;
  NumberLabel* m_left;
  QLabel* m_device;
  QLabel* m_memoryWord;
  MemoryBar* m_memoryBar;
  NumberLabel* m_memory;
  QPushButton* m_stop;
  QTimer m_poll;
};

}  // namespace athanor
