// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Long work in one line: what it is, a bar, how far it is and how long it still takes, Cancel.

#include <QElapsedTimer>
#include <QString>
#include <QWidget>
#include <cstdint>

class QProgressBar;
class QPushButton;

namespace athanor {

class ElidedLabel;
class NumberLabel;

class ProgressRow : public QWidget {
  Q_OBJECT
 public:
  explicit ProgressRow(QWidget* parent = nullptr);

  /// Begins anew, with nothing known of how far it is.
  void start(const QString& title);
  void setTitle(const QString& title);
  /// Done and total in any unit; a total of 0: not known. Less than before begins another stage,
  /// whose time is reckoned from here.
  void setProgress(std::int64_t done, std::int64_t total);
  /// "43 %, 12 s left", as it is shown.
  QString progressText() const;

 signals:
  void cancelRequested();

 private:
  QString timeLeft(std::int64_t done, std::int64_t total) const;

  ElidedLabel* m_title;
  QProgressBar* m_bar;
  NumberLabel* m_text;
  QPushButton* m_cancel;
  QElapsedTimer m_clock;
  std::int64_t m_first = 0;  ///< done when the clock began
  std::int64_t m_done = 0;
};

}  // namespace athanor
