// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What the program found on this machine: processor, memory, disk, and where training will run.

#include <QVector>
#include <filesystem>

#include "widgets/card.h"

namespace athanor {

class MachineCard : public Card {
  Q_OBJECT
 public:
  explicit MachineCard(std::filesystem::path home, QWidget* parent = nullptr);

  void lookAgain();

 private:
  struct Row {
    QLabel* title;
    QLabel* note;
  };
  Row addRow();

  std::filesystem::path m_home;
  QVector<Row> m_rows;
  QLabel* m_device;
};

/// A processor's name, "AMD Ryzen 7 5800X", without the trade marks and clock that some systems
/// add.
QString shortProcessorName(const std::string& name);

}  // namespace athanor
