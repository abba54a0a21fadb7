// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Rows of tokens as a model sees them: each in one of four tints, a bar where a document begins,
/// masked ones muted and struck through.

#include <QString>
#include <QVector>
#include <QWidget>
#include <cstdint>

namespace athanor {

struct ViewedToken {
  QString text;  ///< white space included; line breaks show as an arrow
  std::int32_t id = 0;
  bool trained = true;  ///< else masked
  bool begins = false;  ///< a document
};

class TokenView : public QWidget {
  Q_OBJECT
 public:
  explicit TokenView(QWidget* parent = nullptr);

  /// One for each sequence; numbered from 1.
  void setRows(const QVector<QVector<ViewedToken>>& rows);
  const QVector<QVector<ViewedToken>>& rows() const { return m_rows; }

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Cell {
    QRect place;
    int row;
    int token;
  };
  /// Where everything stands at this width; returns the height.
  int lay(int width, QVector<Cell>* cells) const;
  void paintCell(QPainter& painter, const Cell& cell) const;

  QVector<QVector<ViewedToken>> m_rows;
  QVector<Cell> m_cells;
};

/// A token's text with line breaks, tabs and lone spaces made visible.
QString visibleText(const QString& text);

}  // namespace athanor
