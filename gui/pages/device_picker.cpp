// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/device_picker.h"

#include <QComboBox>
#include <QStandardItemModel>

#include "gui/models/device_choice.h"
#include "widgets/format.h"

namespace athanor {
namespace {

QString itemText(const Device& device) {
  const QString name = shortDeviceName(device.name);
  if (!device.is_card()) return DevicePicker::tr("%1 (processor)").arg(name);
  return device.memory_bytes > 0
             ? DevicePicker::tr("%1, %2").arg(name, formatBytes(device.memory_bytes))
             : name;
}

/// Why cards cannot be used, each reason once, or why there is none.
QString note(const Devices& devices) {
  if (!devices.no_card.empty()) return QString::fromStdString(devices.no_card);
  QStringList sentences;
  for (const Device& device : devices.list) {
    QStringList names;
    for (const Device& other : devices.list) {
      if (!other.usable() && other.problem == device.problem) names << shortDeviceName(other.name);
    }
    const QString sentence = DevicePicker::tr("%1 cannot be used. %2")
                                 .arg(names.join(", "), QString::fromStdString(device.problem));
    if (!device.usable() && !sentences.contains(sentence)) sentences << sentence;
  }
  return sentences.join('\n');
}

}  // namespace

DevicePicker::DevicePicker(DeviceChoice* choice, QWidget* parent)
    : FormRow(tr("Run on"), new QComboBox, parent), m_choice(choice) {
  box()->setObjectName("device");
  box()->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  setHelp(tr("What computes the next run, here in this computer"));
  connect(box(), &QComboBox::activated, this,
          [this](int index) { m_choice->choose(box()->itemData(index).toString()); });
  connect(choice, &DeviceChoice::changed, this, &DevicePicker::fill);
  fill();
}

QComboBox* DevicePicker::box() const {
  return static_cast<QComboBox*>(field());
}

void DevicePicker::fill() {
  box()->clear();
  box()->setEnabled(m_choice->devices().has_value());
  if (!m_choice->devices()) {
    box()->addItem(tr("Looking for graphics cards…"));
    return;
  }
  const Devices& devices = *m_choice->devices();
  for (const Device& device : devices.list) {
    box()->addItem(itemText(device), QString::fromStdString(device.id));
    const int at = box()->count() - 1;
    const QString problem = QString::fromStdString(device.problem);
    box()->setItemData(at, problem.isEmpty() ? QString::fromStdString(device.detail) : problem,
                       Qt::ToolTipRole);
    if (problem.isEmpty()) continue;
    auto* items = qobject_cast<QStandardItemModel*>(box()->model());
    items->item(at)->setEnabled(false);
  }
  box()->setCurrentIndex(box()->findData(QString::fromStdString(m_choice->id())));
  setNote(note(devices));
}

}  // namespace athanor
