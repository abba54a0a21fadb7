// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// How answers are drawn: temperature, top-k, top-p, seed and length.

#include "engine/infer/sampler.h"
#include "widgets/card.h"

class QPlainTextEdit;
class QVBoxLayout;

namespace athanor {

class NumberField;
class Segmented;

class SamplingPanel : public Card {
  Q_OBJECT
 public:
  explicit SamplingPanel(QWidget* parent = nullptr);

  SamplingOptions options() const;
  /// No answer is longer than what the model sees at once; 0 allows any length.
  void setContext(std::int64_t tokens);
  /// The next answer to the same prompt is another one.
  void advanceSeed();

 private:
  NumberField* add(QVBoxLayout* to, const QString& label, double value, double least, double most,
                   bool whole);
  void addMore();

  NumberField* m_temperature;
  NumberField* m_topK;
  NumberField* m_topP;
  NumberField* m_length;
  NumberField* m_seed;
  NumberField* m_minP;
  NumberField* m_typicalP;
  NumberField* m_repetition;
  NumberField* m_presence;
  NumberField* m_frequency;
  QPlainTextEdit* m_stops;
  Segmented* m_whenFull;
  double m_wantedLength = 0;  ///< what a model with a longer context is asked for again
};

}  // namespace athanor
