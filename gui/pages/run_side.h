// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Beside the curves: what the run takes of the machine, and the settings it was started with.

#include <QWidget>

#include "engine/session/training_session.h"

class QFormLayout;
class QLabel;

namespace athanor {

class Card;
class DevicePanel;

class RunSide : public QWidget {
  Q_OBJECT
 public:
  explicit RunSide(QWidget* parent = nullptr);

  void showRecord(const RunRecord& record);
  DevicePanel* device() const { return m_device; }

 private:
  Card* makeSettings();
  QLabel* addRow(QFormLayout* form, const QString& name);
  void showSpec(const RunRecord& record);

  DevicePanel* m_device;
  QLabel* m_parameters;
  QLabel* m_shape;
  QLabel* m_context;
  QLabel* m_data;
  QLabel* m_batch;
  QLabel* m_rate;
  QLabel* m_seed;
  QLabel* m_started;
  QLabel* m_best;
  QLabel* m_spent;
};

}  // namespace athanor
