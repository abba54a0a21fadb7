// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The last things that happened to a run, one line each.

#include <vector>

#include "engine/store/run_store.h"
#include "widgets/card.h"

namespace athanor {

class NumberLabel;

class RunEvents : public Card {
  Q_OBJECT
 public:
  explicit RunEvents(QWidget* parent = nullptr);

  void showAll(const std::vector<EventRow>& events, const std::vector<CheckpointRow>& checkpoints);

 private:
  struct Line {
    QLabel* time;
    QLabel* text;
  };
  std::vector<Line> m_lines;
};

}  // namespace athanor
