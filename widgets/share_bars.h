// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Named shares of a whole as rows: name, bar, percentage. For the step profile.

#include <QString>
#include <QVector>
#include <QWidget>

namespace athanor {

struct ShareRow {
  QString name;
  double share = 0;  ///< 0…1
  int series = 2;    ///< 1…8
};

class ShareBars : public QWidget {
  Q_OBJECT
 public:
  explicit ShareBars(const QString& name, QWidget* parent = nullptr);

  void setRows(const QVector<ShareRow>& rows);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QVector<ShareRow> m_rows;
};

}  // namespace athanor
