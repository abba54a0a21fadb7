// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A number to be read across the room: caption above, figure and unit, note below.

#include <QWidget>

class QLabel;

namespace athanor {

class NumberLabel;

class Figure : public QWidget {
  Q_OBJECT
 public:
  /// `large` is 22 px, else 18.
  explicit Figure(const QString& caption, bool large = false, QWidget* parent = nullptr);

  void setCaption(const QString& caption);
  void setValue(const QString& value, const QString& unit = {});
  void setNote(const QString& note);

 private:
  void updateAccessible();

  QLabel* m_caption;
  NumberLabel* m_value;
  QLabel* m_unit;
  QLabel* m_note;
};

}  // namespace athanor
