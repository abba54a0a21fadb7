// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Two columns of a page, one of them of a fixed width; in a small window they stand one below the
/// other and the page scrolls.

#include <QScrollArea>

class QBoxLayout;

namespace athanor {

class SideBySide : public QScrollArea {
  Q_OBJECT
 public:
  /// In the order in which they are read; `fixed` is one of the two.
  SideBySide(QWidget* first, QWidget* second, QWidget* fixed, int fixed_px, int spacing_px,
             QWidget* parent = nullptr);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange();

  QBoxLayout* m_columns;
  QWidget* m_fixed;
  int m_fixed_px;
};

}  // namespace athanor
