// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// In how many bits the model's weights are kept while it writes, and the memory that takes.

#include "engine/model/loaded_weights.h"
#include "widgets/card.h"

class QLabel;

namespace athanor {

struct LoadedModel;
class Segmented;

class WeightsPanel : public Card {
  Q_OBJECT
 public:
  explicit WeightsPanel(QWidget* parent = nullptr);

  WeightFormat format() const;
  /// "8 bit"; empty as saved.
  QString shortName() const;
  /// What answers now.
  void setLoaded(const LoadedModel& model);
  /// No model has answered yet, or another one will.
  void clearLoaded();

 private:
  Segmented* m_format;
  QLabel* m_memory;
};

}  // namespace athanor
