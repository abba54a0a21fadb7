// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What the next run is trained on: the processor or a card. Those that cannot be used are listed
/// with the reason.

#include "widgets/form_row.h"

class QComboBox;

namespace athanor {

class DeviceChoice;

class DevicePicker : public FormRow {
  Q_OBJECT
 public:
  explicit DevicePicker(DeviceChoice* choice, QWidget* parent = nullptr);

 private:
  QComboBox* box() const;
  void fill();

  DeviceChoice* m_choice;
};

}  // namespace athanor
