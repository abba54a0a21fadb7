// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a conversation shows before its first word: what to do, and three beginnings to choose
/// from.

#include <QWidget>

namespace athanor {

class StoryStarts : public QWidget {
  Q_OBJECT
 public:
  explicit StoryStarts(QWidget* parent = nullptr);

 signals:
  void chosen(const QString& start);
};

}  // namespace athanor
