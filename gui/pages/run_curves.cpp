// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_curves.h"

#include <QCheckBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <QVBoxLayout>

#include "gui/pages/run_points.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/loss_plot.h"
#include "widgets/number_label.h"
#include "widgets/segmented.h"
#include "widgets/small_plot.h"

namespace athanor {
namespace {

constexpr int kSmoothing_percent = 80;
constexpr int kSmallPlot_px = 120;
constexpr int kLoss_px = 160;

QString wholeNumber(double value) {
  return formatThousands(static_cast<std::int64_t>(value));
}

}  // namespace

RunCurves::RunCurves(QWidget* parent)
    : QWidget(parent),
      m_loss(new LossPlot(tr("Loss (nats per token)"))),
      m_speed(new SmallPlot(tr("Tokens/s"), 3, wholeNumber)),
      m_rate(new SmallPlot(tr("Learning rate"), 4, formatLearningRate)),
      m_norm(new SmallPlot(tr("Gradient norm"), 5, [](double v) { return formatFixed(v, 2); })),
      m_axis(new Segmented(tr("X axis"), {tr("Step"), tr("Tokens"), tr("Time")})),
      m_logY(new QCheckBox(tr("Log y"))),
      m_clip(new QCheckBox(tr("Clip outliers"))),
      m_smoothing(new QSlider(Qt::Horizontal)),
      m_smoothingText(new NumberLabel),
      m_following(plainButton(tr("Following"), "follow")) {
  m_tools = makeTools();
  auto* lossCard = new Card;
  lossCard->content()->addWidget(m_loss, 1);
  m_loss->setMinimumHeight(kLoss_px);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(lossCard, 1);
  layout->addWidget(makeSmallPlots());
  m_loss->setEmptyText(tr("The first points appear in a moment"));
  connect(m_loss, &LossPlot::checkpointClicked, this,
          [this](double step) { emit checkpointClicked(static_cast<qint64>(step)); });
  connect(m_loss, &LossPlot::followingChanged, this, &RunCurves::updateFollowing);
  updateFollowing();
  m_loss->setSmoothing(kSmoothing_percent / 100.0);
}

QWidget* RunCurves::makeTools() {
  m_smoothing->setRange(0, 99);
  m_smoothing->setValue(kSmoothing_percent);
  m_smoothing->setFixedWidth(120);
  m_smoothing->setAccessibleName(tr("Smoothing"));
  m_smoothingText->setText(formatFixed(kSmoothing_percent / 100.0, 2));
  m_following->setCheckable(true);
  m_following->setObjectName("following");
  QPushButton* save = flatButton(tr("Export"), "export");
  connect(m_axis, &Segmented::currentChanged, this,
          [this](int axis) { m_loss->setAxis(static_cast<PlotAxis>(axis)); });
  connect(m_logY, &QCheckBox::toggled, m_loss, &LossPlot::setLogY);
  connect(m_clip, &QCheckBox::toggled, m_loss, &LossPlot::setClipOutliers);
  connect(m_smoothing, &QSlider::valueChanged, this, [this](int percent) {
    m_smoothingText->setText(formatFixed(percent / 100.0, 2));
    m_loss->setSmoothing(percent / 100.0);
  });
  connect(m_following, &QPushButton::clicked, m_loss, &LossPlot::setFollowing);
  connect(save, &QPushButton::clicked, this, &RunCurves::exportAs);
  auto* tools = new QWidget;
  auto* row = new QHBoxLayout(tools);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(10);
  row->addWidget(makeLabel(tr("X axis"), FontRole::body, Tone::muted));
  row->addWidget(m_axis);
  row->addWidget(m_logY);
  row->addWidget(m_clip);
  row->addWidget(makeLabel(tr("Smoothing"), FontRole::body, Tone::muted));
  row->addWidget(m_smoothing);
  row->addWidget(m_smoothingText);
  row->addStretch(1);
  row->addWidget(m_following);
  row->addWidget(save);
  return tools;
}

QWidget* RunCurves::makeSmallPlots() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  for (SmallPlot* plot : {m_speed, m_rate, m_norm}) {
    auto* card = new Card;
    card->content()->addWidget(plot);
    card->setFixedHeight(kSmallPlot_px);
    plot->linkTo(m_loss);
    layout->addWidget(card, 1);
  }
  return row;
}

void RunCurves::clear() {
  m_loss->clear();
  for (SmallPlot* plot : {m_speed, m_rate, m_norm})
    plot->clear();
  m_evaluations.clear();
  m_points = 0;
}

void RunCurves::replace(const RunHistory& history) {
  clear();
  m_loss->setSeries(pointsOf(asTrained(history), &MetricRow::loss));
  appendBelow(history.metrics);
  append(RunRows{.metrics = {}, .evaluations = history.evaluations});
  setMarks(history);
  m_loss->setFollowing(true);
}

void RunCurves::appendBelow(const std::vector<MetricRow>& rows) {
  m_points += static_cast<qsizetype>(rows.size());
  m_speed->append(pointsOf(rows, &MetricRow::tokens_per_second));
  m_rate->append(pointsOf(rows, &MetricRow::learning_rate));
  m_norm->append(pointsOf(rows, &MetricRow::gradient_norm));
}

void RunCurves::append(const RunRows& rows) {
  if (!rows.metrics.empty()) {
    m_loss->append(pointsOf(rows.metrics, &MetricRow::loss));
    appendBelow(rows.metrics);
  }
  if (rows.evaluations.empty()) return;
  m_evaluations.insert(m_evaluations.end(), rows.evaluations.begin(), rows.evaluations.end());
  m_loss->appendValidation(pointsOf(rows.evaluations));
}

void RunCurves::append(const RunHistory& news) {
  append(RunRows{.metrics = news.metrics, .evaluations = news.evaluations});
  setMarks(news);
}

void RunCurves::setLive(bool live) {
  m_live = live;
  m_loss->setComplete(!live);
  updateFollowing();
}

void RunCurves::updateFollowing() {
  const bool following = m_loss->isFollowing();
  m_following->setChecked(following);
  m_following->setText(m_live ? tr("Following") : tr("Whole run"));
  m_following->setToolTip(m_live ? tr("Keep the newest step in sight")
                                 : tr("Show all steps again"));
  // A finished run that is seen whole has nothing to follow.
  m_following->setHidden(!m_live && following);
}

void RunCurves::setMarks(const RunHistory& news) {
  QVector<PlotPoint> checkpoints;
  for (const CheckpointRow& row : news.checkpoints)
    checkpoints.push_back(pointAt(row.step, m_evaluations));
  m_loss->setCheckpoints(checkpoints);
  QVector<PlotMark> resumes;
  for (const EventRow& event : news.events) {
    if (event.kind != "resumed") continue;
    resumes.push_back(
        {pointAt(event.step, m_evaluations), tr("resumed at %1").arg(formatThousands(event.step))});
  }
  m_loss->setResumes(resumes);
  for (SmallPlot* plot : {m_speed, m_rate, m_norm})
    plot->setResumes(resumes);
}

void RunCurves::exportAs() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Export the curve"), tr("loss.csv"),
                                                    tr("Values (*.csv);;Picture (*.png)"));
  if (path.isEmpty()) return;
  const bool picture = path.endsWith(".png", Qt::CaseInsensitive);
  emit exported(picture ? m_loss->exportPng(path) : m_loss->exportCsv(path));
}

}  // namespace athanor
