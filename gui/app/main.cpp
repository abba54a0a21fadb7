// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QCommandLineParser>
#include <QLocale>
#include <QMessageBox>
#include <clocale>
#include <cstdio>
#include <memory>
#include <optional>

#include "engine/base/paths.h"
#include "gui/app/main_window.h"
#include "gui/app/screenshot_tour.h"
#include "gui/run/attempt.h"

namespace athanor {
namespace {

struct Arguments {
  std::filesystem::path home;
  std::optional<Page> page;
  std::optional<AppearanceChoice> appearance;
  QString tour;
};

/// Empty when the arguments can be used, else what is wrong with them.
QString readArguments(const QStringList& words, Arguments& arguments) {
  const QStringList pages = {"plan", "run", "chat", "runs", "data", "settings"};
  const QStringList appearances = {"system", "light", "dark"};
  QCommandLineParser parser;
  parser.setApplicationDescription(
      QCoreApplication::translate("main", "Trains a small language model on this machine."));
  parser.addHelpOption();
  parser.addVersionOption();
  const QCommandLineOption home("home", "Keep runs and settings in <folder>.", "folder");
  const QCommandLineOption page("page", "Open at <name>: " + pages.join(", ") + ".", "name");
  const QCommandLineOption appearance("appearance", "Use system, light or dark.", "name");
  const QCommandLineOption tour("screenshot-tour",
                                "Train the demo model and keep pictures of all pages in <folder>.",
                                "folder");
  parser.addOptions({home, page, appearance, tour});
  parser.process(words);
  if (parser.isSet(home) && parser.value(home).isEmpty()) return "--home needs a folder.";
  arguments.home = parser.value(home).toStdString();
  if (!parser.isSet(home)) {
    const QString problem = attempt([&] { arguments.home = default_home(); });
    if (!problem.isEmpty()) return problem;
  }
  arguments.tour = parser.value(tour);
  if (parser.isSet(page)) {
    const auto index = pages.indexOf(parser.value(page));
    if (index < 0) return "--page must be one of " + pages.join(", ") + ".";
    arguments.page = static_cast<Page>(index);
  }
  if (parser.isSet(appearance)) {
    const auto index = appearances.indexOf(parser.value(appearance));
    if (index < 0) return "--appearance must be system, light or dark.";
    arguments.appearance = static_cast<AppearanceChoice>(index);
  }
  return {};
}

int runWindow(QApplication& app, const Arguments& arguments) {
  applyTheme(app, AppSettings(arguments.home).effectiveAppearance());
  std::unique_ptr<MainWindow> window;
  const QString problem = attempt([&] { window = std::make_unique<MainWindow>(arguments.home); });
  if (!window) {
    QMessageBox::critical(nullptr, QApplication::applicationDisplayName(), problem);
    return EXIT_FAILURE;
  }
  if (arguments.appearance) window->settings().setAppearance(*arguments.appearance);
  if (arguments.page) window->showPage(*arguments.page);
  window->show();
  if (arguments.tour.isEmpty()) return QApplication::exec();
  return ScreenshotTour(window.get(), arguments.tour).run() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace athanor

int main(int argc, char** argv) {
  QGuiApplication::setHighDpiScaleFactorRoundingPolicy(
      Qt::HighDpiScaleFactorRoundingPolicy::PassThrough);
  QApplication app(argc, argv);
  QApplication::setApplicationName("athanor");
  QApplication::setApplicationDisplayName("Athanor");
  QApplication::setApplicationVersion(ATHANOR_VERSION);
  // Numbers are written and read the same way everywhere, whatever the desktop's language.
  QLocale::setDefault(QLocale::c());
  std::setlocale(LC_NUMERIC, "C");
  athanor::Arguments arguments;
  const QString problem = athanor::readArguments(QApplication::arguments(), arguments);
  if (!problem.isEmpty()) {
    std::fprintf(stderr, "athanor: %s\n", qPrintable(problem));
    return 2;
  }
  return athanor::runWindow(app, arguments);
}
