// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/first_run_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/pages/import_menu.h"
#include "gui/pages/machine_card.h"
#include "gui/pages/step_card.h"
#include "gui/pages/tone_icon.h"
#include "widgets/buttons.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr int kContent_px = 984;
constexpr int kMark_px = 52;

}  // namespace

FirstRunPage::FirstRunPage(const std::filesystem::path& home, DeviceChoice* choice, QWidget* parent)
    : QWidget(parent) {
  auto* machine = new MachineCard(home, choice);
  machine->setFixedWidth(344);
  auto* top = new QHBoxLayout;
  top->setSpacing(24);
  top->addWidget(makeWelcome(), 1);
  top->addWidget(machine, 0, Qt::AlignTop);

  auto* content = new QWidget;
  content->setMaximumWidth(kContent_px);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(top);
  column->addSpacing(44);
  column->addWidget(makeLabel(tr("What happens next"), FontRole::emphasis));
  column->addSpacing(8);
  column->addWidget(makeSteps());
  column->addSpacing(12);
  QPushButton* add = flatButton(tr("Add a text of your own"), "data");
  connect(add, &QPushButton::clicked, this, &FirstRunPage::dataRequested);
  QPushButton* import = flatButton(tr("Import a model"), "import");
  auto* menu = new ImportMenu(import);
  import->setMenu(menu);
  connect(menu, &ImportMenu::chosen, this, &FirstRunPage::importRequested);
  auto* links = new QHBoxLayout;
  links->setSpacing(4);
  links->addWidget(makeLabel(tr("Already have something?"), FontRole::note, Tone::muted));
  links->addWidget(add);
  links->addWidget(import);
  links->addStretch(1);
  column->addLayout(links);

  auto* row = new QHBoxLayout;
  row->setContentsMargins(24, 0, 24, 0);
  row->addStretch(1);
  row->addWidget(content, 100);
  row->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 20, 0, 16);
  layout->addStretch(2);
  layout->addLayout(row);
  layout->addStretch(3);
}

QWidget* FirstRunPage::makeWelcome() {
  auto* welcome = new QWidget;
  auto* layout = new QVBoxLayout(welcome);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  auto* mark = new ToneIcon(kMark_px);
  mark->setIcon("spark", Tone::accent);
  layout->addWidget(mark);
  layout->addSpacing(16);
  layout->addWidget(makeLabel(tr("Train a language model\non this machine"), FontRole::firstRun));
  layout->addSpacing(12);
  QLabel* lead = makeSentence(tr("A small demo model learns from ten megabytes of stories, "
                                 "written on the spot. The first points of its curve appear in "
                                 "seconds; then you can talk to it."),
                              FontRole::chat, Tone::muted);
  lead->setMaximumWidth(540);
  layout->addWidget(lead);
  layout->addSpacing(20);

  QPushButton* demo = primaryButton(tr("Train the demo model"), "play");
  QPushButton* plan = plainButton(tr("Plan my own model"));
  demo->setObjectName("trainDemo");
  demo->setDefault(true);
  makeTall(demo);
  makeTall(plan);
  connect(demo, &QPushButton::clicked, this, &FirstRunPage::demoRequested);
  connect(plan, &QPushButton::clicked, this, &FirstRunPage::planRequested);
  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(10);
  buttons->addWidget(demo);
  buttons->addWidget(plan);
  buttons->addStretch(1);
  layout->addLayout(buttons);
  layout->addSpacing(12);
  layout->addWidget(
      makeSentence(tr("A few minutes on most processors. No account, no download; everything "
                      "stays here."),
                   FontRole::note, Tone::muted));
  layout->addStretch(1);
  return welcome;
}

QWidget* FirstRunPage::makeSteps() {
  auto* steps = new QWidget;
  auto* layout = new QHBoxLayout(steps);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(
      new StepCard(StepCard::Picture::curve, tr("1. It learns to write"),
                   tr("0.9 M parameters and ten megabytes of stories. Watch the loss fall.")));
  layout->addWidget(new StepCard(StepCard::Picture::talk, tr("2. You talk to it"),
                                 tr("Begin a story and let the model go on.")));
  layout->addWidget(
      new StepCard(StepCard::Picture::plan, tr("3. You plan your own"),
                   tr("Pick a size and your text: the bar says what fits before you start.")));
  return steps;
}

}  // namespace athanor
