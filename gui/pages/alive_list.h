// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What memory holds at one moment of a step: a heading, the largest kinds of buffers, the rest.

#include <QString>
#include <QVector>
#include <QWidget>
#include <cstdint>

namespace athanor {

struct AliveRow {
  QString name;
  std::int64_t bytes = 0;
};

class AliveList : public QWidget {
  Q_OBJECT
 public:
  explicit AliveList(QWidget* parent = nullptr);

  /// The largest first; as many as there is room for are shown, and the sum of the others.
  void setContent(const QString& heading, const QVector<AliveRow>& rows);
  const QString& heading() const { return m_heading; }
  const QVector<AliveRow>& rows() const { return m_rows; }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintRow(QPainter& painter, int line, const AliveRow& row, bool rest) const;

  QString m_heading;
  QVector<AliveRow> m_rows;
};

}  // namespace athanor
