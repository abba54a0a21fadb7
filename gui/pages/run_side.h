// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Beside the curves: what the run takes of the machine, and the settings it was started with.

#include <QWidget>

#include "engine/session/training_session.h"

class QFormLayout;
class QLabel;

namespace athanor {

class Card;
class MemoryBar;
class ToneIcon;

class RunSide : public QWidget {
  Q_OBJECT
 public:
  explicit RunSide(QWidget* parent = nullptr);

  void showRecord(const RunRecord& record);
  /// Of a run of this process: planned and allocated bytes are known. `live` while it still holds
  /// them.
  void showSession(const SessionStart& session, bool live);

 private:
  Card* makeDevice();
  Card* makeSettings();
  QLabel* addRow(QFormLayout* form, const QString& name);
  void showSpec(const RunRecord& record);
  /// `held_bytes` is what this process holds of the machine's memory for the run.
  void showMemory(std::int64_t planned_bytes, std::int64_t program_bytes, std::int64_t held_bytes);

  Card* m_device;
  MemoryBar* m_bar;
  ToneIcon* m_trainingIcon;
  QLabel* m_training;
  QLabel* m_kernels;
  QLabel* m_resident;
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
