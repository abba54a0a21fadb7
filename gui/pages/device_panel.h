// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a run takes of its device: memory planned, measured and of others; while it is trained by
/// this process, ten minutes of how busy, thirsty and warm the device is.

#include "engine/session/training_session.h"
#include "widgets/card.h"

namespace athanor {

struct DeviceSample;
class HistoryGauge;
class MemoryBar;
class NumberLabel;
class ToneIcon;

class DevicePanel : public Card {
  Q_OBJECT
 public:
  explicit DevicePanel(QWidget* parent = nullptr);

  /// As the store has it.
  void showRecord(const RunRecord& record);
  /// Of a run of this process: planned and allocated bytes are known. `live` while it still holds
  /// them; then samples are shown.
  void showSession(const SessionStart& session, bool live);
  /// Nothing of it is held by this process any more, or by the next one shown.
  void setLive(bool live) { setLive(live, m_onCard); }
  void showSample(const DeviceSample& sample);
  /// A card that was found but is not used; empty: none.
  void showUnusedCard(const QString& sentence);

 private:
  struct Memory {
    std::int64_t planned_bytes = 0;
    std::optional<std::int64_t> own_bytes = {};  ///< of this process
    std::int64_t used_bytes = 0;                 ///< by all
    std::int64_t capacity_bytes = 0;
  };
  QLayout* makeIconRow(ToneIcon*& icon, QLabel*& text);
  void makeGauges();
  void setLive(bool live, bool onCard);
  void showMemory(const Memory& memory, const QString& figure);
  void showProcessor(const DeviceSample& sample);
  void showCard(const DeviceSample& sample);
  void showThrottling(const DeviceSample& sample);

  NumberLabel* m_figure;
  MemoryBar* m_bar;
  ToneIcon* m_trainingIcon = nullptr;
  QLabel* m_training = nullptr;
  QLabel* m_measured;
  QLabel* m_detail;
  HistoryGauge* m_cores;
  HistoryGauge* m_busy;
  HistoryGauge* m_power;
  HistoryGauge* m_temperature;
  QWidget* m_throttleRow;
  QLabel* m_throttle = nullptr;
  QWidget* m_unusedRow;
  QLabel* m_unused = nullptr;
  bool m_live = false;
  bool m_onCard = false;
  std::int64_t m_planned_bytes = 0;
};

}  // namespace athanor
