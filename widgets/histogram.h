// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// How many of something there are of each length, in bins that double: bars over a labelled axis.

#include <QString>
#include <QVector>
#include <QWidget>
#include <cstdint>
#include <memory>

namespace athanor {

class Histogram : public QWidget {
  Q_OBJECT
 public:
  /// What both axes count: "tokens in a document", "documents".
  Histogram(const QString& xName, const QString& yName, QWidget* parent = nullptr);
  ~Histogram() override;

  /// counts[i] have a length of 2^i up to, not including, 2^(i+1).
  void setCounts(const QVector<std::int64_t>& counts);
  /// A vertical line at this length, with words; 0: none.
  void setMark(std::int64_t length, const QString& label);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 private:
  class Private;
  std::unique_ptr<Private> d;
};

}  // namespace athanor
