// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gui/window_fixture.h"

#include <QApplication>
#include <QDropEvent>
#include <QFile>
#include <QMimeData>
#include <QUrl>
#include <QtTest/QtTest>

#include "engine/backend/registry.h"
#include "engine/planner/device_speed.h"

namespace athanor {
namespace {

QByteArray sentences() {
  const QByteArrayList who = {"The old dog", "A small girl", "My neighbour", "The grey cat"};
  const QByteArrayList did = {"walked to", "looked for", "dreamed of", "came home from"};
  const QByteArrayList where = {"the lake", "the market", "a red boat", "the dark wood", "school"};
  QByteArray text;
  for (int i = 0; i < 900; ++i) {
    text += who[i % who.size()] + " " + did[(i / 3) % did.size()] + " " +
            where[(i * 7 / 4) % where.size()] + (i % 10 == 9 ? ".\n" : ". ");
  }
  return text;
}

}  // namespace

WindowFixture::WindowFixture() {
  QFile file(textFile());
  if (!file.open(QIODevice::WriteOnly) || file.write(sentences()) < 0) {
    qFatal("the text of the tests cannot be written");
  }
  open();
}

std::filesystem::path WindowFixture::home() const {
  return m_folder.filePath("home").toStdString();
}

QString WindowFixture::textFile() const {
  return m_folder.filePath("sentences.txt");
}

void WindowFixture::open() {
  std::filesystem::create_directories(home());
  m_window = std::make_unique<MainWindow>(home());
  m_window->show();
}

void WindowFixture::restart() {
  m_window->close();
  m_window.reset();
  open();
}

RunSpec WindowFixture::tinySpec(std::int64_t steps) const {
  RunSpec spec;
  spec.name = "Tiny";
  spec.sources = {{.path = textFile().toStdString()}};
  spec.data.validation_fraction = 0.1;
  spec.model = {.vocabulary = 300,
                .layers = 2,
                .width = 32,
                .heads = 2,
                .kv_heads = 1,
                .ffn = 64,
                .context = 32};
  spec.train.steps = steps;
  spec.train.micro_batch = 4;
  spec.train.learning_rate = 3e-3;
  spec.train.evaluation_interval = 10;
  spec.train.evaluation_tokens = 512;
  spec.train.checkpoint_interval = 0;
  return spec;
}

void pretendMeasured(const std::filesystem::path& home) {
  std::vector<DeviceSpeed::Sample> samples;
  for (int i = 0; i < kOperations; ++i)
    samples.push_back({static_cast<Operation>(i), 1000, 1e9});
  const auto backend = make_backend();
  save_device_speed(home, DeviceSpeed(backend->device(), samples));
}

void prepareApplication() {
  applyTheme(*static_cast<QApplication*>(QCoreApplication::instance()), Appearance::light);
}

void drop(QWidget* on, const QStringList& paths) {
  QMimeData data;
  QList<QUrl> urls;
  for (const QString& path : paths)
    urls << QUrl::fromLocalFile(path);
  data.setUrls(urls);
  const QPoint middle = on->rect().center();
  QDragEnterEvent enter(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(on, &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent event(middle, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(on, &event);
}

}  // namespace athanor
