// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/settings_page.h"

#include <QCoreApplication>
#include <QDesktopServices>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QThread>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>

#include "gui/pages/page_header.h"
#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/form_row.h"
#include "widgets/labels.h"
#include "widgets/number_field.h"
#include "widgets/segmented.h"

namespace athanor {
namespace {

constexpr int kColumn_px = 760;
constexpr int kLabel_px = 140;

FormRow* makeRow(const QString& label, QWidget* field, const QString& note) {
  auto* row = new FormRow(label, field);
  row->setLabelWidth(kLabel_px);
  row->setNote(note);
  return row;
}

}  // namespace

SettingsPage::SettingsPage(const std::filesystem::path& home, AppSettings* settings,
                           QWidget* parent)
    : QWidget(parent),
      m_settings(settings),
      m_appearance(new Segmented(tr("Appearance"), {tr("System"), tr("Light"), tr("Dark")})),
      m_threads(new NumberField) {
  auto* column = new QWidget;
  column->setMaximumWidth(kColumn_px);
  auto* cards = new QVBoxLayout(column);
  cards->setContentsMargins(0, 0, 0, 0);
  cards->setSpacing(12);
  auto* look = new Card(tr("Window"));
  look->content()->addWidget(makeAppearance());
  auto* training = new Card(tr("Training and chat"));
  training->content()->addWidget(makeThreads());
  auto* files = new Card(tr("Files"));
  files->content()->addWidget(makeFolder(home));
  auto* about = new Card(tr("About"));
  about->content()->addWidget(makeAbout());
  for (Card* card : {look, training, files, about})
    cards->addWidget(card);
  cards->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(new PageHeader(tr("Settings")));
  layout->addWidget(column, 1);
}

QWidget* SettingsPage::withUndo(QWidget* field, QToolButton* undo) {
  auto* both = new QWidget;
  auto* layout = new QHBoxLayout(both);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(field);
  layout->addWidget(undo);
  layout->addStretch(1);
  undo->setEnabled(false);
  return both;
}

QWidget* SettingsPage::makeAppearance() {
  const auto before = m_settings->appearance();
  QToolButton* undo = iconButton("undo", tr("Undo the change of appearance"));
  m_appearance->setCurrent(static_cast<int>(before));
  connect(m_appearance, &Segmented::currentChanged, this, [this, undo, before](int choice) {
    m_settings->setAppearance(static_cast<AppearanceChoice>(choice));
    undo->setEnabled(choice != static_cast<int>(before));
  });
  connect(undo, &QToolButton::clicked, this,
          [this, before] { m_appearance->setCurrent(static_cast<int>(before)); });
  return makeRow(tr("Appearance"), withUndo(m_appearance, undo),
                 tr("System follows the colours of the desktop."));
}

QWidget* SettingsPage::makeThreads() {
  const int before = m_settings->threads();
  QToolButton* undo = iconButton("undo", tr("Undo the change of threads"));
  m_threads->setAccessibleName(tr("Threads"));
  m_threads->setRange(1, 1024);
  m_threads->setSpecialValue(0, tr("All"));
  m_threads->setValue(before);
  m_threads->setFixedWidth(120);
  connect(m_threads, &NumberField::valueChanged, this, [this, undo, before](double value) {
    m_settings->setThreads(static_cast<int>(value));
    undo->setEnabled(static_cast<int>(value) != before);
  });
  connect(undo, &QToolButton::clicked, this, [this, before] { m_threads->setValue(before); });
  return makeRow(tr("Threads"), withUndo(m_threads, undo),
                 tr("How many processor threads a run may use, from the next run or answer on. "
                    "This machine has %1; fewer leave room for other programs.")
                     .arg(QThread::idealThreadCount()));
}

QWidget* SettingsPage::makeFolder(const std::filesystem::path& home) {
  const QString path = QString::fromStdString(home.string());
  QPushButton* open = plainButton(tr("Open"), "folder");
  open->setAccessibleName(tr("Open the data folder"));
  connect(open, &QPushButton::clicked, this,
          [path] { QDesktopServices::openUrl(QUrl::fromLocalFile(path)); });
  QLabel* text = makeSentence(path);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* field = new QWidget;
  auto* layout = new QHBoxLayout(field);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(text, 1);
  layout->addWidget(open);
  return makeRow(tr("Data folder"), field,
                 tr("Runs, checkpoints, conversations and prepared texts. Start the program with "
                    "--home to use another one."));
}

QWidget* SettingsPage::makeAbout() {
  QLabel* text = makeSentence(tr("Athanor %1, with Qt %2. Free software under the GNU General "
                                 "Public License, version 3 or later.")
                                  .arg(QCoreApplication::applicationVersion(), qVersion()),
                              FontRole::body, Tone::muted);
  return text;
}

}  // namespace athanor
