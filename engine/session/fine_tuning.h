// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/settings.h"
#include "engine/chat/tokenize_conversations.h"

namespace athanor {

/// The checkpoint of another run whose weights a run begins with.
struct StartPoint {
  std::int64_t run = 0;  ///< 0: new weights
  std::int64_t step = 0;
};

template <class Visitor>
void visit_fields(StartPoint& start, Visitor& visitor) {
  visitor("run", start.run, Bounds{0, 9e15});
  visitor("step", start.step, Bounds{0, 1e9});
}

/// Training on conversations instead of texts.
struct FineTuning {
  std::string records;  ///< see read_conversation
  ChatFormat chat_template = ChatFormat::none;
  std::string system;  ///< ChatStyle::system
  LossOn loss = LossOn::answers;
  Truncation truncation = Truncation::leave_out;
  double held_out_fraction = 0.05;  ///< of the questions
  /// Times that every example is seen; train.steps follows from it. 0: train.steps stands.
  double epochs = 3;

  bool on() const { return chat_template != ChatFormat::none; }
  ChatStyle style() const { return {.format = chat_template, .system = system}; }
};

template <class Visitor>
void visit_fields(FineTuning& tuning, Visitor& visitor) {
  visitor("records", tuning.records);
  visitor("template", tuning.chat_template);
  visitor("system", tuning.system);
  visitor("loss", tuning.loss);
  visitor("truncation", tuning.truncation);
  visitor("held_out", tuning.held_out_fraction, Bounds{0.001, 0.5});
  visitor("epochs", tuning.epochs, Bounds{0, 10000});
}

}  // namespace athanor
