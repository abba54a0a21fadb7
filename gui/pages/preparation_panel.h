// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What stands in the place of the curves while a run is being prepared: stage, progress, Cancel.

#include <QWidget>

class QLabel;
class QProgressBar;

namespace athanor {

class PreparationPanel : public QWidget {
  Q_OBJECT
 public:
  explicit PreparationPanel(QWidget* parent = nullptr);

  void reset();
  void showStage(const QString& what, qint64 done, qint64 total);

 signals:
  void cancelRequested();

 private:
  QLabel* m_stage;
  QLabel* m_share;
  QProgressBar* m_progress;
};

}  // namespace athanor
