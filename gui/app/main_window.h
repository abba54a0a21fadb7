// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The window: rail, pages, strip. It owns the store's connection of its thread and the
/// controllers, and carries requests from one page to another.

#include <QMainWindow>
#include <filesystem>

#include "gui/models/app_settings.h"
#include "gui/models/device_choice.h"
#include "gui/models/run_deletion.h"
#include "gui/run/chat_controller.h"
#include "gui/run/device_monitor.h"
#include "gui/run/run_controller.h"

class QStackedWidget;

namespace athanor {

class Banner;
class ChatPage;
class DataPage;
class FirstRunPage;
class LogDock;
class PlanPage;
class Rail;
class RunPage;
class RunsPage;
class TransferDesk;

/// In the order of the rail; firstRun is none of its entries.
enum class Page { plan, run, chat, runs, data, settings, firstRun };

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  /// Throws Error when the store cannot be opened.
  explicit MainWindow(const std::filesystem::path& home, QWidget* parent = nullptr);
  ~MainWindow() override;

  void showPage(Page page);
  Page page() const;

  AppSettings& settings() { return m_settings; }
  RunStore& store() { return m_store; }
  RunController& controller() { return *m_controller; }
  DeviceChoice& devices() { return *m_devices; }
  DeviceMonitor& monitor() { return *m_monitor; }
  RunDeletion& deletion() { return *m_deletion; }
  TransferDesk& transfers() { return *m_transfers; }
  FirstRunPage* firstRunPage() const { return m_firstRun; }
  PlanPage* planPage() const { return m_plan; }
  RunPage* runPage() const { return m_run; }
  ChatPage* chatPage() const { return m_chat; }
  RunsPage* runsPage() const { return m_runs; }
  DataPage* dataPage() const { return m_data; }

  void startDemo();
  void startRun(const RunSpec& spec, const std::optional<RehearsalRow>& rehearsal = {});
  void resumeRun(qint64 runId, const TrainingSession::ResumeOptions& how);
  void openRun(qint64 runId);
  void talkTo(qint64 runId, qint64 step);

 protected:
  void closeEvent(QCloseEvent* event) override;

 private:
  QWidget* makeCentral(const std::filesystem::path& home);
  void connectPages();
  void connectController();
  void connectTransfers();
  void openAtStart();
  void askBeforeClosing();
  void useDevice();
  void logDevices();
  void applyAppearance();
  void keepGeometry();

  AppSettings m_settings;
  RunStore m_store;
  DeviceChoice* m_devices;
  DeviceMonitor* m_monitor;
  RunController* m_controller;
  ChatController* m_chatController;
  RunDeletion* m_deletion;
  Rail* m_rail;
  Banner* m_notice;
  TransferDesk* m_transfers;
  QStackedWidget* m_stack;
  LogDock* m_log;
  FirstRunPage* m_firstRun;
  PlanPage* m_plan;
  RunPage* m_run;
  ChatPage* m_chat;
  RunsPage* m_runs;
  DataPage* m_data;
  Page m_cameFrom = Page::plan;  ///< where the run in preparation was asked for
  bool m_closing = false;        ///< the window closes as soon as the run is saved
  bool m_asking = false;
  bool m_devicesLogged = false;
};

}  // namespace athanor
