// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QPushButton>
#include <QShortcut>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "gui/app/log_dock.h"
#include "gui/app/status_strip.h"
#include "gui/app/transfer_bar.h"
#include "gui/app/transfer_desk.h"
#include "gui/app/undo_bar.h"
#include "gui/pages/chat_page.h"
#include "gui/pages/data_page.h"
#include "gui/pages/first_run_page.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/run_news.h"
#include "gui/pages/run_page.h"
#include "gui/pages/runs_page.h"
#include "gui/pages/settings_page.h"
#include "gui/run/attempt.h"
#include "widgets/banner.h"
#include "widgets/rail.h"

namespace athanor {
namespace {

constexpr QSize kSize{1280, 800};
constexpr QSize kLeastSize{1024, 640};

}  // namespace

MainWindow::MainWindow(const std::filesystem::path& home, QWidget* parent)
    : QMainWindow(parent),
      m_settings(home),
      m_store(home),
      m_devices(new DeviceChoice(&m_settings, this)),
      m_monitor(new DeviceMonitor(this)),
      m_controller(new RunController(home, this)),
      m_chatController(new ChatController(this)),
      m_deletion(new RunDeletion(&m_store, this)),
      m_rail(new Rail(standardRailEntries())),
      m_notice(new Banner),
      m_transfers(new TransferDesk(&m_store, &m_settings, m_notice, this)),
      m_stack(new QStackedWidget),
      m_log(new LogDock(m_controller)),
      m_firstRun(new FirstRunPage(home, m_devices)),
      m_plan(new PlanPage(home, &m_settings, m_devices, m_controller)),
      m_run(new RunPage(home, m_controller, m_devices, m_monitor)),
      m_chat(new ChatPage(&m_store, m_chatController)),
      m_runs(new RunsPage(&m_store, m_controller, m_deletion)),
      m_data(new DataPage(home)) {
  setWindowTitle(tr("Athanor"));
  setCentralWidget(makeCentral(home));
  addDockWidget(Qt::BottomDockWidgetArea, m_log);
  m_log->hide();
  auto* log = new QShortcut(QKeySequence(Qt::Key_F12), this);
  connect(log, &QShortcut::activated, this, [this] { m_log->setVisible(!m_log->isVisible()); });
  m_controller->setThreads(m_settings.threads());
  m_chatController->setThreads(m_settings.threads());
  connect(m_devices, &DeviceChoice::changed, this, &MainWindow::useDevice);
  connect(m_devices, &DeviceChoice::changed, this, &MainWindow::logDevices);
  useDevice();
  connectPages();
  connectController();
  connectTransfers();
  setMinimumSize(kLeastSize);
  resize(kSize);
  restoreGeometry(m_settings.geometry());
  restoreState(m_settings.windowState());
  openAtStart();
}

MainWindow::~MainWindow() {
  // Pages look at controllers and store until the last; they go first, then what they look at.
  delete takeCentralWidget();
  delete m_transfers;
  delete m_deletion;
  delete m_chatController;
  delete m_controller;
  delete m_monitor;
  delete m_devices;
}

QWidget* MainWindow::makeCentral(const std::filesystem::path& home) {
  for (QWidget* page :
       {static_cast<QWidget*>(m_plan), static_cast<QWidget*>(m_run), static_cast<QWidget*>(m_chat),
        static_cast<QWidget*>(m_runs), static_cast<QWidget*>(m_data),
        static_cast<QWidget*>(new SettingsPage(home, &m_settings)),
        static_cast<QWidget*>(m_firstRun)}) {
    m_stack->addWidget(page);
  }
  auto* noticeRow = new QHBoxLayout;
  noticeRow->setContentsMargins(24, 0, 24, 0);
  noticeRow->addWidget(m_notice);
  auto* pages = new QVBoxLayout;
  pages->setSpacing(0);
  pages->addLayout(noticeRow);
  pages->addWidget(m_stack, 1);
  pages->addWidget(new UndoBar(m_deletion));
  pages->addWidget(new TransferBar(m_transfers->transfers()));
  auto* row = new QHBoxLayout;
  row->setSpacing(0);
  row->addWidget(m_rail);
  row->addLayout(pages, 1);
  auto* strip = new StatusStrip(m_controller, m_devices, m_monitor);
  connect(strip, &StatusStrip::runRequested, this, [this] { showPage(Page::run); });
  auto* central = new QWidget;
  auto* layout = new QVBoxLayout(central);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(row, 1);
  layout->addWidget(strip);
  return central;
}

void MainWindow::connectPages() {
  connect(m_rail, &Rail::activated, this,
          [this](int index) { showPage(static_cast<Page>(index)); });
  const auto toPlan = [this] { showPage(Page::plan); };
  connect(m_firstRun, &FirstRunPage::demoRequested, this, &MainWindow::startDemo);
  connect(m_firstRun, &FirstRunPage::planRequested, this, toPlan);
  connect(m_firstRun, &FirstRunPage::dataRequested, this, [this] { showPage(Page::data); });
  connect(m_plan, &PlanPage::startRequested, this, &MainWindow::startRun);
  connect(m_run, &RunPage::talkRequested, this, &MainWindow::talkTo);
  connect(m_run, &RunPage::resumeRequested, this, [this](qint64 runId, double scale) {
    resumeRun(runId, {.learning_rate_scale = scale, .step = {}});
  });
  connect(m_run, &RunPage::planRequested, this, toPlan);
  connect(m_chat, &ChatPage::demoRequested, this, &MainWindow::startDemo);
  connect(m_runs, &RunsPage::openRequested, this, &MainWindow::openRun);
  connect(m_runs, &RunsPage::talkRequested, this, &MainWindow::talkTo);
  connect(m_runs, &RunsPage::resumeRequested, this, [this](qint64 runId, qint64 step) {
    resumeRun(runId, {.learning_rate_scale = 1, .step = step});
  });
  connect(m_runs, &RunsPage::cloneRequested, this, [this](const RunSpec& spec) {
    m_plan->useSpec(spec);
    showPage(Page::plan);
  });
  connect(m_runs, &RunsPage::planRequested, this, toPlan);
  connect(m_data, &DataPage::useRequested, this, [this](const RunSpec& spec) {
    m_plan->useDataOf(spec);
    showPage(Page::plan);
  });
  const auto tellPlan = [this] { m_data->setPlan(m_plan->form()->spec()); };
  connect(m_plan->form(), &PlanForm::edited, this, tellPlan);
  tellPlan();
  connect(&m_settings, &AppSettings::appearanceChanged, this, &MainWindow::applyAppearance);
  connect(&m_settings, &AppSettings::threadsChanged, m_controller, &RunController::setThreads);
  connect(&m_settings, &AppSettings::threadsChanged, m_chatController, &ChatController::setThreads);
  connect(m_deletion, &RunDeletion::pendingChanged, this, [this] {
    if (m_deletion->pending() && m_run->runId() == m_deletion->pending()) m_run->closeRun();
  });
  connect(m_deletion, &RunDeletion::failed, this, [this](const QString& reason) {
    m_notice->showMessage({.kind = BannerKind::danger,
                           .title = tr("The run was not deleted"),
                           .text = reason,
                           .details = {},
                           .actions = {}});
  });
}

void MainWindow::connectController() {
  connect(m_controller, &RunController::refused, this, [this](const QString& reason) {
    if (m_closing) {
      close();
      return;
    }
    if (m_cameFrom == Page::run) {
      if (!reason.isEmpty()) m_run->showProblem(tr("The run was not resumed"), reason);
      return;
    }
    showPage(reason.isEmpty() ? m_cameFrom : Page::plan);
    if (!reason.isEmpty()) m_plan->showRefusal(reason);
  });
  connect(m_controller, &RunController::stateChanged, this, &MainWindow::useDevice);
  connect(m_controller, &RunController::ended, this, [this] {
    if (m_closing) close();
  });
}

void MainWindow::connectTransfers() {
  connect(m_firstRun, &FirstRunPage::importRequested, m_transfers, &TransferDesk::bring);
  connect(m_chat, &ChatPage::importRequested, m_transfers, &TransferDesk::bring);
  connect(m_chat, &ChatPage::dropped, m_transfers, &TransferDesk::bringOne);
  connect(m_runs, &RunsPage::importRequested, m_transfers, &TransferDesk::bring);
  connect(m_runs, &RunsPage::dropped, m_transfers, &TransferDesk::bringOne);
  connect(m_runs, &RunsPage::exportRequested, m_transfers, &TransferDesk::exportRun);
  connect(m_transfers, &TransferDesk::told, m_log, &LogDock::write);
  connect(m_transfers, &TransferDesk::talkRequested, this,
          [this](qint64 runId) { talkTo(runId, -1); });
  connect(m_transfers, &TransferDesk::arrived, this, [this](qint64 runId) {
    m_runs->showArrived(runId);
    if (page() == Page::chat) m_chat->talkTo(runId, -1);
    if (page() == Page::firstRun) showPage(Page::runs);
  });
}

void MainWindow::openAtStart() {
  std::vector<RunRecord> runs;
  const QString problem = attempt([&] {
    m_store.mark_interrupted();
    runs = m_store.runs();
  });
  const Notice notice = problem.isEmpty()
                            ? m_store.recovery_note()
                            : Notice{.title = tr("The run list could not be read").toStdString(),
                                     .text = problem.toStdString(),
                                     .details = {}};
  if (!notice.empty()) {
    m_log->write(QString::fromStdString(notice.sentence()));
    m_notice->showMessage(bannerOf(notice));
  }
  if (runs.empty()) {
    showPage(Page::firstRun);
  } else {
    openRun(runs.front().id);
  }
}

void MainWindow::showPage(Page page) {
  m_stack->setCurrentIndex(static_cast<int>(page));
  m_rail->setCurrent(page == Page::firstRun ? -1 : static_cast<int>(page));
}

Page MainWindow::page() const {
  return static_cast<Page>(m_stack->currentIndex());
}

void MainWindow::startDemo() {
  RunSpec spec = presets().front().spec;
  spec.name = tr("Demo model").toStdString();
  startRun(spec);
}

void MainWindow::startRun(const RunSpec& spec, const std::optional<RehearsalRow>& rehearsal) {
  m_cameFrom = page();
  m_run->closeRun();
  m_controller->start(spec, rehearsal);
  showPage(Page::run);
}

void MainWindow::resumeRun(qint64 runId, const TrainingSession::ResumeOptions& how) {
  m_cameFrom = Page::run;
  if (m_run->runId() != runId) m_run->openRun(runId);
  m_controller->resume(runId, how);
  showPage(Page::run);
}

void MainWindow::openRun(qint64 runId) {
  if (m_run->runId() != runId) m_run->openRun(runId);
  showPage(Page::run);
}

void MainWindow::talkTo(qint64 runId, qint64 step) {
  m_chat->talkTo(runId, step);
  showPage(Page::chat);
}

void MainWindow::useDevice() {
  m_controller->setDevice(m_devices->id());
  m_chatController->setDevice(m_devices->id());
  if (!m_devices->devices()) return;
  // While a run goes on, its device counts, whatever the next one will be on.
  const bool training = m_controller->busy() && m_controller->session();
  const Device* used = training ? m_devices->devices()->find(m_controller->session()->device_id)
                                : m_devices->device();
  m_monitor->watch(used == nullptr ? std::string() : used->uuid);
}

/// Once, with the technical details that sentences elsewhere leave out.
void MainWindow::logDevices() {
  if (m_devicesLogged || !m_devices->devices()) return;
  m_devicesLogged = true;
  const Devices& found = *m_devices->devices();
  const auto write = [this](const std::string& text, const std::string& context) {
    m_log->write(QString::fromStdString(context.empty() ? text : text + " (" + context + ")"));
  };
  if (!found.no_card.empty()) write(found.no_card, {});
  for (const Device& device : found.list) {
    if (!device.usable()) write(device.name + " cannot be used. " + device.problem, device.context);
  }
  m_log->write(tr("Running on: %1").arg(m_devices->name()));
}

void MainWindow::applyAppearance() {
  applyTheme(*static_cast<QApplication*>(QCoreApplication::instance()),
             m_settings.effectiveAppearance());
}

void MainWindow::keepGeometry() {
  m_settings.setGeometry(saveGeometry());
  m_settings.setWindowState(saveState());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (m_controller->busy()) {
    event->ignore();
    if (!m_closing) askBeforeClosing();
    return;
  }
  keepGeometry();
  m_deletion->commit();
  event->accept();
}

void MainWindow::askBeforeClosing() {
  if (m_asking) return;
  m_asking = true;
  auto* question = new QMessageBox(QMessageBox::Question, {}, {}, QMessageBox::NoButton, this);
  question->setAttribute(Qt::WA_DeleteOnClose);
  QPushButton* stop = question->addButton(QString(), QMessageBox::AcceptRole);
  QPushButton* keep = question->addButton(tr("Keep going"), QMessageBox::RejectRole);
  stop->setObjectName("stopAndSave");
  keep->setObjectName("keepGoing");
  question->setDefaultButton(keep);
  question->setEscapeButton(keep);
  const auto describe = [this, question, stop] {
    const bool preparing = !m_controller->session();
    question->setWindowTitle(preparing ? tr("A run is being prepared")
                                       : tr("A run is being trained"));
    question->setText(preparing ? tr("The run is still being prepared; closing gives that up.")
                                : tr("Closing ends the training. Its last step is saved first, "
                                     "and you can resume from there."));
    stop->setText(preparing ? tr("Give up and close") : tr("Stop and save"));
  };
  describe();
  // Training may begin while the question stands there.
  connect(m_controller, &RunController::stateChanged, question, describe);
  connect(question, &QMessageBox::finished, this, [this, question, stop] {
    m_asking = false;
    if (question->clickedButton() != stop) return;
    m_closing = true;
    m_controller->stop();
    // It may have ended by itself while the question stood there.
    if (!m_controller->busy()) close();
  });
  question->open();
}

}  // namespace athanor
