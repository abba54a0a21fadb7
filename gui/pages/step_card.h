// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One of the three steps on the first-run page: a small drawing above a title and two lines.

#include <QFrame>

namespace athanor {

class StepCard : public QFrame {
  Q_OBJECT
 public:
  enum class Picture { curve, talk, plan };
  StepCard(Picture picture, const QString& title, const QString& text, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paintCurve(QPainter& painter, const QRectF& area) const;
  void paintTalk(QPainter& painter, const QRectF& area) const;
  void paintPlan(QPainter& painter, const QRectF& area) const;

  Picture m_picture;
};

}  // namespace athanor
