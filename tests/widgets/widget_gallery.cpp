// SPDX-License-Identifier: GPL-3.0-or-later
// Renders every widget in both themes into PNG files, to be looked at:
//   widget_gallery FOLDER

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QDir>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QSlider>
#include <QTest>
#include <QVBoxLayout>
#include <cmath>
#include <random>

#include "widgets/badge.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/collapsible.h"
#include "widgets/composer.h"
#include "widgets/conversation_view.h"
#include "widgets/empty_state.h"
#include "widgets/figure.h"
#include "widgets/form_row.h"
#include "widgets/format.h"
#include "widgets/history_gauge.h"
#include "widgets/icons.h"
#include "widgets/labels.h"
#include "widgets/loss_plot.h"
#include "widgets/memory_bar.h"
#include "widgets/number_field.h"
#include "widgets/rail.h"
#include "widgets/segmented.h"
#include "widgets/share_bars.h"
#include "widgets/small_plot.h"
#include "widgets/text_block.h"

using namespace athanor;

namespace {

constexpr double kGib = 1073741824.0;

std::int64_t gib(double amount) {
  return static_cast<std::int64_t>(amount * kGib);
}

MemoryBarData planOf(double activations_gib) {
  MemoryBarData data;
  data.segments = {{"Weights", gib(1.82), 2},
                   {"Gradients", gib(1.82), 3},
                   {"Master copy, FP32", gib(3.64), 4},
                   {"Moments, 8-bit", gib(1.85), 5},
                   {"Activations", gib(activations_gib), 1},
                   {"LM-head chunk", gib(0.20), 7},
                   {"Outside the arena", gib(0.38), 8}};
  data.capacity_bytes = gib(15.92);
  data.free_bytes = gib(15.02);
  data.reserve_bytes = gib(0.50);
  return data;
}

QVector<PlotPoint> curve(int count, double floor, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> jitter(0, noise);
  QVector<PlotPoint> points;
  for (int i = 0; i < count; ++i) {
    const double step = (i + 1) * 20;
    const double value = floor + 6 * std::exp(-step / 3000) + 1.2 * std::exp(-step / 15000);
    points << PlotPoint{step, step * 65536, step * 5.5, value + jitter(random)};
  }
  return points;
}

QWidget* barsPage() {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setSpacing(12);
  for (const double activations : {3.61, 10.29}) {
    auto* card = new Card(activations < 5 ? "Fits" : "Does not fit");
    card->setNote("13.32 planned + 0.50 reserve of 15.02 GiB");
    auto* bar = new MemoryBar;
    bar->setData(planOf(activations));
    card->content()->addWidget(bar);
    layout->addWidget(card);
  }
  auto* figures = new Card;
  auto* row = new QHBoxLayout;
  const char* captions[] = {"Predicted speed", "Optimizer step", "Time to finish"};
  const char* values[] = {"11,900", "5.5", "6 d 12 h"};
  const char* units[] = {"tokens/s", "s", ""};
  for (int i = 0; i < 3; ++i) {
    auto* figure = new Figure(captions[i], i == 0);
    figure->setValue(values[i], units[i]);
    figure->setNote("65,536 tokens");
    row->addWidget(figure, 1);
  }
  auto* compact = new MemoryBar;
  compact->setData(planOf(3.61));
  compact->setCompact(8);
  row->addWidget(compact, 1);
  figures->content()->addLayout(row);
  layout->addWidget(figures);
  layout->addStretch(1);
  return page;
}

QWidget* buttonRow() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(primaryButton("Start", "play"));
  auto* off = primaryButton("Disabled");
  off->setEnabled(false);
  layout->addWidget(off);
  layout->addWidget(plainButton("Rehearse"));
  auto* offPlain = plainButton("Pause", "pause");
  offPlain->setEnabled(false);
  layout->addWidget(offPlain);
  layout->addWidget(flatButton("Export", "export"));
  layout->addWidget(iconButton("undo", "Undo", true));
  layout->addWidget(iconButton("copy", "Copy"));
  auto* on = new QCheckBox("On");
  on->setChecked(true);
  layout->addWidget(on);
  layout->addWidget(new QCheckBox("Off"));
  layout->addStretch(1);
  return row;
}

Card* formCard() {
  auto* form = new Card("Model and data");
  auto* combo = new QComboBox;
  combo->addItems({"977M · 24 layers × 1,792"});
  form->content()->setSpacing(0);
  form->content()->addWidget(new FormRow("Preset", combo));
  auto* context = new NumberField;
  context->setUnit("tokens");
  context->setMultiple(128);
  context->setValue(4096);
  form->content()->addWidget(new FormRow("Context", context));
  auto* wrong = new NumberField;
  wrong->setUnit("tokens");
  wrong->setMultiple(128);
  wrong->setValue(4095);
  form->content()->addWidget(new FormRow("Effective batch", wrong));
  auto* rate = new NumberField(NumberKind::scientific);
  rate->setValue(0.0004);
  rate->setEnabled(false);
  form->content()->addWidget(new FormRow("Learning rate", rate));
  auto* slider = new QSlider(Qt::Horizontal);
  slider->setValue(30);
  form->content()->addWidget(new FormRow("Desktop reserve", slider));
  auto* folded = new Collapsible("Learning rate and schedule");
  folded->setSummary("4e-4, cosine");
  form->content()->addWidget(folded);
  return form;
}

QWidget* partsPage() {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setSpacing(12);
  auto* badges = new QHBoxLayout;
  for (const BadgeKind kind : {BadgeKind::running, BadgeKind::paused, BadgeKind::interrupted,
                               BadgeKind::finished, BadgeKind::failed, BadgeKind::queued}) {
    badges->addWidget(new Badge(kind));
  }
  badges->addStretch(1);
  layout->addLayout(badges);
  layout->addWidget(buttonRow());
  auto* modes = new Segmented("Mode", {"Pretrain", "Fine-tune", "LoRA", "Preference"});
  layout->addWidget(modes);
  auto* banner = new Banner;
  layout->addWidget(banner);
  banner->showMessage(
      {BannerKind::danger,
       "Paused: the loss is not finite at step 6,256",
       "Batch 12 of 16 made the gradient infinite; learning rate 3e-3 is the likely "
       "cause. The checkpoint at step 6,000 is good; 256 steps are repeated.",
       "batch 12",
       {{"resume", "Resume at 6,000 with half the rate", true},
        {"show", "Show the batch", false}}});
  auto* columns = new QHBoxLayout;
  columns->addWidget(formCard(), 1);
  auto* right = new QVBoxLayout;
  auto* gauge = new HistoryGauge("Power", 0, 360, 1);
  for (int i = 0; i < 600; ++i)
    gauge->append({double(i), 1.0 * (i < 400 ? 340 + i % 5 : 245 + i % 4)});
  gauge->setValueText("245 of 360 W");
  gauge->setWarning("too hot");
  right->addWidget(gauge);
  auto* shares = new ShareBars("Where the step goes");
  shares->setRows({{"Matrix products", 0.68, 2},
                   {"Attention", 0.152, 4},
                   {"Memory-bound kernels", 0.136, 1},
                   {"Data wait", 0.002, 8}});
  right->addWidget(shares);
  right->addWidget(new EmptyState("chat", "No model to talk to yet", "Train the demo model"));
  columns->addLayout(right, 1);
  layout->addLayout(columns);
  layout->addStretch(1);
  return page;
}

QWidget* plotsPage() {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setSpacing(12);
  auto* plot = new LossPlot("Loss");
  plot->setSmoothing(0.92);
  plot->setLogY(true);
  plot->setClipOutliers(true);
  QVector<PlotPoint> points = curve(2050, 2.2, 0.06, 1);
  for (int i = 1200; i < 1210; ++i)
    points[i].value = std::nan("");
  plot->setSeries(points);
  QVector<PlotPoint> validation;
  QVector<PlotPoint> checkpoints;
  for (int i = 124; i < points.size(); i += 125) {
    validation << points[i];
    validation.back().value = curve(2050, 2.26, 0, 1)[i].value;
    if (i % 250 == 249) checkpoints << points[i];
  }
  plot->setValidation(validation);
  plot->setCheckpoints(checkpoints);
  plot->setResumes({{points[850], "resumed at 17,000 after a power cut"}});
  plot->setNote("forecast at the end 2.52–2.68 (80 %)");
  plot->setForecast(LossPlot::Forecast{{50000, 0, 0, 0}, 2.2, 2.35});
  auto* card = new Card;
  card->content()->addWidget(plot);
  layout->addWidget(card, 3);
  auto* row = new QHBoxLayout;
  const QStringList titles = {"Tokens/s", "Learning rate", "Gradient norm"};
  for (int i = 0; i < titles.size(); ++i) {
    auto* small = new SmallPlot(titles[i], 3 + i, [i](double value) {
      return i == 0 ? formatThousands(std::llround(value))
                    : (i == 1 ? formatLearningRate(value) : formatFixed(value, 2));
    });
    QVector<PlotPoint> values = points;
    for (int k = 0; k < values.size(); ++k) {
      const double wave = std::sin(k * 0.37) + std::sin(k * 1.71);
      values[k].value = i == 0 ? 11840 + 60 * wave
                               : (i == 1 ? 4e-4 * std::min(1.0, k / 100.0) * (1 - k / 4000.0)
                                         : 0.38 + 0.02 * wave + std::exp(-k / 30.0));
    }
    small->setSeries(values);
    small->linkTo(plot);
    auto* smallCard = new Card;
    smallCard->content()->addWidget(small);
    row->addWidget(smallCard);
  }
  layout->addLayout(row, 1);
  auto* overlay = new LossPlot("Validation loss");
  QVector<PlotCurve> curves;
  for (int i = 0; i < 5; ++i) {
    curves << PlotCurve{QString("lr %1e-4").arg(1 << i), i + 1,
                        curve(600 + 300 * i, 2.4 + 0.1 * i, 0, 3)};
  }
  overlay->setCurves(curves);
  overlay->setAxis(PlotAxis::tokens);
  auto* overlayCard = new Card;
  overlayCard->content()->addWidget(overlay);
  layout->addWidget(overlayCard, 2);
  plot->setCrosshair(33500);
  return page;
}

QWidget* chatPage() {
  auto* page = new QWidget;
  auto* layout = new QHBoxLayout(page);
  layout->setContentsMargins(0, 0, 16, 0);
  auto* rail = new Rail(standardRailEntries());
  rail->setCurrent(2);
  layout->addWidget(rail);
  auto* column = new QVBoxLayout;
  column->setContentsMargins(12, 12, 0, 12);
  auto* card = new Card("977M base · step 41,000");
  auto* view = new ConversationView;
  view->addUser("What is the capital of France?");
  const int answer = view->addAnswer(
      "What is the capital of Germany? What is the capital of Spain? These are the questions that "
      "pupils are asked in the first week of the course, and most of them can answer it.");
  view->setNote(answer, "71 tokens · first 0.05 s · 118 tokens/s · stopped at the limit");
  view->setBranch(answer, 1, 2);
  view->addUser(
      "Write two sentences about it, and make them long enough that this bubble has to "
      "be broken into several lines within three quarters of the width.");
  const int streaming = view->addAnswer();
  view->setStreaming(streaming, true);
  for (const char* chunk : {"It is the ", "first of ", "two books"})
    view->appendText(streaming, chunk);
  card->content()->addWidget(view);
  column->addWidget(card, 1);
  auto* bottom = new Card;
  auto* composer = new Composer;
  composer->setText("Go on");
  composer->setContext(176, 4096);
  bottom->content()->addWidget(composer);
  column->addWidget(bottom);
  layout->addLayout(column, 1);
  auto* side = new Card("Icons");
  side->setFixedWidth(220);
  auto* grid = new QGridLayout;
  int index = 0;
  for (const QString& name : iconNames()) {
    auto* label = new QLabel;
    label->setPixmap(icon(name).pixmap(QSize(20, 20), label->devicePixelRatioF()));
    label->setToolTip(name);
    grid->addWidget(label, index / 6, index % 6);
    ++index;
  }
  side->content()->addLayout(grid);
  auto* sample = new TextBlock;
  sample->setContent("The lighthouse keeper climbed the stairs each evening to light the lamp.",
                     37);
  side->content()->addWidget(sample);
  side->content()->addStretch(1);
  layout->addWidget(side);
  return page;
}

}  // namespace

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  const QDir folder(argc > 1 ? argv[1] : ".");
  for (const Appearance appearance : {Appearance::dark, Appearance::light}) {
    applyTheme(app, appearance);
    const QString suffix = appearance == Appearance::dark ? "dark" : "light";
    const QVector<std::pair<QString, QWidget*>> pages = {
        {"bars", barsPage()}, {"parts", partsPage()}, {"plots", plotsPage()}, {"chat", chatPage()}};
    for (const auto& [name, page] : pages) {
      page->setAutoFillBackground(true);
      page->resize(900, 720);
      page->show();
      QTest::qWait(120);
      page->grab().save(folder.filePath(name + '-' + suffix + ".png"));
      delete page;
    }
  }
  return 0;
}
