// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What the program found on this machine: processor, memory, disk, and where training will run.

#include <QVector>
#include <cstdint>
#include <filesystem>

#include "widgets/card.h"

namespace athanor {

class DeviceChoice;
class ToneIcon;

struct MachineFindings {
  QString processor;
  int threads = 0;
  std::int64_t total_memory_bytes = 0;
  std::int64_t free_memory_bytes = 0;
  std::int64_t free_disk_bytes = 0;
  QString card = {};  ///< empty: none was found
  std::int64_t card_bytes = 0;
  QString card_problem = {};  ///< why it cannot be used
  QString trains_on = {};     ///< empty: the processor
};

class MachineCard : public Card {
  Q_OBJECT
 public:
  MachineCard(std::filesystem::path home, DeviceChoice* choice, QWidget* parent = nullptr);

  void lookAgain();
  void showFindings(const MachineFindings& findings);

 private:
  struct Row {
    ToneIcon* icon;
    QLabel* title;
    QLabel* note;
  };
  Row addRow();
  static void showRow(const Row& row, const QString& title, bool enough, const QString& note);

  std::filesystem::path m_home;
  DeviceChoice* m_choice;
  Row m_graphics;
  QVector<Row> m_rows;
  QLabel* m_device;
};

}  // namespace athanor
