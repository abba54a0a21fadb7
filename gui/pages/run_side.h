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
  /// Of a run of this process: planned and allocated bytes are known.
  void showSession(const SessionStart& session);

 private:
  Card* makeDevice();
  Card* makeSettings();
  QLabel* addRow(QFormLayout* form, const QString& name);
  void showSpec(const RunRecord& record);
  void showMemory(std::int64_t planned_bytes, std::int64_t resident_bytes);

  Card* m_device;
  MemoryBar* m_bar;
  QWidget* m_arenaRow;
  ToneIcon* m_arenaIcon;
  QLabel* m_arena;
  QLabel* m_kernels;
  QLabel* m_planned;
  QLabel* m_resident;
  QLabel* m_parameters;
  QLabel* m_shape;
  QLabel* m_data;
  QLabel* m_batch;
  QLabel* m_rate;
  QLabel* m_seed;
  QLabel* m_started;
  QLabel* m_best;
  QLabel* m_spent;
};

}  // namespace athanor
