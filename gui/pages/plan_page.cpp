// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/plan_page.h"

#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QToolButton>
#include <QVBoxLayout>
#include <cmath>

#include "engine/base/json.h"
#include "gui/models/app_settings.h"
#include "gui/models/device_choice.h"
#include "gui/pages/device_picker.h"
#include "gui/pages/page_header.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/side_by_side.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

/// Long enough to type the next digit, short enough to feel at once.
constexpr int kDelay_ms = 40;
constexpr int kForm_px = 376;
constexpr int kLeastForm_px = 500;
/// A micro-batch cannot be stopped half-way.
constexpr double kLongRehearsal_s = 20;

}  // namespace

PlanPage::PlanPage(const std::filesystem::path& home, AppSettings* settings, DeviceChoice* choice,
                   RunController* controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_header(new PageHeader(tr("Plan"))),
      m_banner(new Banner),
      m_form(new PlanForm(new DevicePicker(choice))),
      m_estimate(new PlanEstimate),
      m_reason(makeLabel({}, FontRole::note, Tone::muted)),
      m_undo(iconButton("undo", tr("Undo"), true)),
      m_redo(iconButton("redo", tr("Redo"), true)),
      m_rehearse(plainButton(tr("Rehearse"))),
      m_start(primaryButton(tr("Start"), "play")),
      m_estimator(home) {
  m_start->setObjectName("start");
  m_header->addAction(m_reason);
  m_undo->setObjectName("undo");
  m_redo->setObjectName("redo");
  m_header->addAction(m_undo);
  m_header->addAction(m_redo);
  m_rehearse->setObjectName("rehearse");
  m_header->addAction(m_rehearse);
  m_header->addAction(m_start);
  m_form->setMinimumHeight(kLeastForm_px);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(m_header);
  layout->addWidget(m_banner);
  layout->addWidget(new SideBySide(m_form, m_estimate, m_form, kForm_px, 16), 1);

  m_delay.setSingleShot(true);
  m_delay.setInterval(kDelay_ms);
  connect(&m_delay, &QTimer::timeout, this, &PlanPage::ask);
  connect(m_form, &PlanForm::edited, this, [this] {
    m_current = false;
    m_refusal.clear();
    m_delay.start();
    updateStart();
  });
  connect(&m_estimator, &Estimator::answered, this, &PlanPage::receive);
  connect(m_start, &QPushButton::clicked, this, &PlanPage::start);
  connect(m_rehearse, &QPushButton::clicked, this, &PlanPage::rehearse);
  connect(m_undo, &QToolButton::clicked, this, [this] { goThroughHistory(-1); });
  connect(m_redo, &QToolButton::clicked, this, [this] { goThroughHistory(1); });
  m_form->setReserve(settings->reserve_bytes());
  m_estimator.setReserve(m_form->reserve_bytes());
  connect(m_form, &PlanForm::reserveChanged, this, [this, settings](qint64 bytes) {
    settings->setReserve(bytes);
    m_estimator.setReserve(bytes);
    m_delay.start();
  });
  showCards(home);
  m_estimator.setAlternatives(memoryAlternatives);
  connect(m_form, &PlanForm::cardChanged, this, [this] {
    m_current = false;
    m_estimator.setCard(m_form->card());
    m_delay.start();
    updateStart();
  });
  connect(&m_estimator, &Estimator::rehearsed, this, &PlanPage::showRehearsal);
  connect(controller, &RunController::stateChanged, this, [this] {
    if (m_controller->busy()) {
      m_estimator.stopMeasuring();
    } else if (isVisible()) {
      measure();
    }
    updateStart();
  });
  connect(choice, &DeviceChoice::changed, this, [this] {
    m_current = false;
    m_delay.start();
    // Once the controller has heard of it too.
    if (isVisible()) QMetaObject::invokeMethod(this, &PlanPage::measure, Qt::QueuedConnection);
    updateStart();
  });
  connect(m_estimate, &PlanEstimate::applied, m_form, &PlanForm::setTraining);
  connect(m_estimate, &PlanEstimate::exportFailed, this, [this](const QString& reason) {
    m_banner->showMessage({.kind = BannerKind::danger,
                           .title = tr("The buffers were not exported"),
                           .text = reason,
                           .details = {},
                           .actions = {}});
  });
  auto* shortcut = new QShortcut(QKeySequence(Qt::CTRL | Qt::Key_Return), this);
  connect(shortcut, &QShortcut::activated, this, &PlanPage::start);
  ask();
  updateHistory();
  updateStart();
}

void PlanPage::showCards(const std::filesystem::path& home) {
  try {
    m_form->setCards(known_cards(home), {});
  } catch (const Error& error) {
    m_form->setCards(
        parse_cards(built_in_cards(), "cards.csv"),
        tr("Your own cards are not shown. %1").arg(QString::fromStdString(error.message())));
  }
}

void PlanPage::useSpec(const RunSpec& spec) {
  m_form->restore(spec);
}

void PlanPage::useData(const QString& path) {
  m_form->setDataFile(path);
}

void PlanPage::useDataOf(const RunSpec& spec) {
  m_form->setData(spec);
}

void PlanPage::showRefusal(const QString& reason) {
  m_banner->showMessage({.kind = BannerKind::danger,
                         .title = tr("The run was not started"),
                         .text = inWords(reason),
                         .details = {},
                         .actions = {}});
  m_refusal = reason;
  m_form->showProblem(reason);
}

void PlanPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  // Free memory is another one by now.
  m_delay.start();
  measure();
}

void PlanPage::measure() {
  if (!m_controller->busy()) m_estimator.measure(m_controller->backend());
}

void PlanPage::ask() {
  m_estimator.setBackend(m_controller->backend());
  m_estimator.ask(m_form->spec());
}

void PlanPage::receive(const Estimate& estimate) {
  m_form->clearProblem();
  m_problem.clear();
  if (estimate.problem.isEmpty()) {
    m_form->showProblem(m_refusal);
  } else if (!m_form->showProblem(estimate.problem)) {
    m_problem = inWords(estimate.problem);
  }
  m_estimate->showEstimate(estimate, m_problem);
  m_form->showCosts(estimate);
  m_current = !m_delay.isActive();
  m_predicted = estimate.speed;
  m_microBatch_s = estimate.speed
                       ? estimate.speed->step_seconds /
                             static_cast<double>(estimate.spec.train.gradient_accumulation)
                       : 0;
  if (m_current) remember(estimate.spec);
  if (estimate.need) {
    const RunSpec& spec = estimate.spec;
    const double tokens = static_cast<double>(spec.train.tokens_per_step(spec.model.context)) *
                          static_cast<double>(spec.train.steps);
    m_header->setSubtitle(
        tr("%1 parameters · %2 tokens")
            .arg(formatThousands(estimate.need->plan.parameters), formatCount(tokens)));
  }
  updateStart();
}

QString PlanPage::obstacle() const {
  if (m_form->card()) {
    return tr("Planned for a card: to train here, choose Plan for: This computer.");
  }
  if (m_controller->busy()) return tr("A run is being trained; stop it before the next.");
  // What was refused once may be tried again: memory or the text may be another by now.
  if (m_refusal.isEmpty() && m_form->hasProblem()) return tr("A field needs to be changed.");
  if (!m_problem.isEmpty()) return m_problem;
  if (m_estimate->verdict() == PlanEstimate::Verdict::doesNotFit) {
    return tr("Does not fit: %1").arg(m_estimate->sentence());
  }
  return {};
}

void PlanPage::updateStart() {
  const QString reason = obstacle();
  m_start->setEnabled(reason.isEmpty() && m_current);
  m_start->setToolTip(reason.isEmpty() ? tr("Start the run (Ctrl+Return)") : reason);
  const bool rehearsing = m_estimator.rehearsing();
  const bool tooLong = m_microBatch_s > kLongRehearsal_s;
  m_rehearse->setText(rehearsing ? tr("Stop rehearsing") : tr("Rehearse"));
  m_rehearse->setEnabled(rehearsing || (reason.isEmpty() && m_current && !tooLong));
  m_rehearse->setToolTip(
      !reason.isEmpty() ? reason
      : tooLong         ? tr("One micro-batch takes about %1 here; a smaller one can be rehearsed")
                      .arg(formatDuration(m_microBatch_s))
                : tr("Run one step for real and compare it with the plan"));
  m_reason->setText(reason.section(':', 0, 0));
  m_reason->setToolTip(reason);
}

void PlanPage::remember(const RunSpec& spec) {
  const auto same = [](const RunSpec& a, const RunSpec& b) {
    return run_spec_to_json(a) == run_spec_to_json(b);
  };
  if (m_history.empty()) {
    m_history.push_back(spec);
  } else if (!same(m_history[m_at], spec)) {
    m_history.resize(m_at + 1);
    m_history.push_back(spec);
    ++m_at;
  }
  updateHistory();
}

void PlanPage::goThroughHistory(int direction) {
  // What was changed just now belongs to it, though its plan is not made yet.
  remember(m_form->spec());
  const auto size = static_cast<std::ptrdiff_t>(m_history.size());
  const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(m_at) + direction;
  if (to < 0 || to >= size) return;
  m_at = static_cast<std::size_t>(to);
  m_form->restore(m_history[m_at]);
  updateHistory();
}

void PlanPage::updateHistory() {
  m_undo->setEnabled(m_at > 0);
  m_redo->setEnabled(m_at + 1 < m_history.size());
}

void PlanPage::rehearse() {
  if (m_estimator.rehearsing()) {
    m_estimator.stopRehearsing();
    return;
  }
  m_banner->hide();
  m_rehearsal = {m_form->spec(), m_controller->backend(), m_predicted, {}};
  m_estimator.rehearse(m_rehearsal.spec, m_rehearsal.backend);
  updateStart();
}

void PlanPage::showRehearsal(const std::optional<Rehearsal>& rehearsal, const QString& problem) {
  updateStart();
  if (!problem.isEmpty()) {
    m_banner->showMessage({.kind = BannerKind::danger,
                           .title = tr("The rehearsal failed"),
                           .text = inWords(problem),
                           .details = {},
                           .actions = {}});
  }
  m_rehearsal.result = rehearsal;
  if (!rehearsal) return;
  QString speed = tr("A step took %1: %2 tokens/s.")
                      .arg(formatDuration(rehearsal->step_seconds),
                           formatThousands(std::llround(rehearsal->tokens_per_second)));
  if (m_rehearsal.predicted) {
    speed +=
        ' ' + tr("%1 were predicted.")
                  .arg(formatThousands(std::llround(m_rehearsal.predicted->tokens_per_second)));
  }
  m_banner->showMessage(
      {.kind = rehearsal->taken_bytes == rehearsal->planned_bytes ? BannerKind::success
                                                                  : BannerKind::danger,
       .title = tr("Rehearsed: %1 planned, %2 taken, %3 outside")
                    .arg(formatBytes(rehearsal->planned_bytes), formatBytes(rehearsal->taken_bytes),
                         formatBytes(rehearsal->outside_bytes)),
       .text = speed,
       .details = {},
       .actions = {}});
}

std::optional<RehearsalRow> PlanPage::rehearsalOf(const RunSpec& spec) const {
  if (!m_rehearsal.result || m_rehearsal.backend != m_controller->backend()) return {};
  // Name and text change neither bytes nor speed.
  RunSpec rehearsed = m_rehearsal.spec;
  rehearsed.name = spec.name;
  rehearsed.preset = spec.preset;
  rehearsed.data = spec.data;
  if (run_spec_to_json(rehearsed) != run_spec_to_json(spec)) return {};
  const Rehearsal& result = *m_rehearsal.result;
  RehearsalRow row{.planned_bytes = result.planned_bytes,
                   .taken_bytes = result.taken_bytes,
                   .outside_bytes = result.outside_bytes,
                   .predicted_tokens_per_second = {},
                   .tokens_per_second = result.tokens_per_second,
                   .step_seconds = result.step_seconds};
  if (m_rehearsal.predicted) {
    row.predicted_tokens_per_second = m_rehearsal.predicted->tokens_per_second;
  }
  return row;
}

void PlanPage::start() {
  if (!m_start->isEnabled()) return;
  m_estimator.stopMeasuring();
  m_banner->hide();
  const RunSpec spec = m_form->spec();
  emit startRequested(spec, rehearsalOf(spec));
}

}  // namespace athanor
