// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest/QtTest>
#include <filesystem>

#include "engine/base/file.h"
#include "tests/structure/source_rules.h"

namespace athanor {
namespace fs = std::filesystem;

/// The rules of the source tree: who includes whom, and what the engine never does.
class TestStructure : public QObject {
  Q_OBJECT

 private slots:
  void the_tree_keeps_its_rules();
  void a_broken_rule_is_found_data();
  void a_broken_rule_is_found();
  void allowed_things_are_not_reported_data();
  void allowed_things_are_not_reported();

 private:
  std::vector<std::string> rules_broken_by(const QString& path, const QString& text);
};

std::vector<std::string> TestStructure::rules_broken_by(const QString& path, const QString& text) {
  const QTemporaryDir folder;
  const fs::path file = fs::path(folder.path().toStdString()) / path.toStdString();
  create_folders(file.parent_path());
  const std::string header = "// SPDX-License-Identifier: GPL-3.0-or-later\n";
  write_file_atomically(file, header + text.toStdString() + "\n");
  return broken_rules(folder.path().toStdString());
}

void TestStructure::the_tree_keeps_its_rules() {
  const QByteArray root = qgetenv("ATHANOR_SOURCE_DIR");
  if (root.isEmpty()) QSKIP("ATHANOR_SOURCE_DIR does not say where the sources are");
  QVERIFY(fs::exists(fs::path(root.toStdString()) / "engine/base/error.h"));
  std::string found;
  for (const std::string& broken : broken_rules(root.toStdString()))
    found += "\n" + broken;
  QVERIFY2(found.empty(), found.c_str());
}

void TestStructure::a_broken_rule_is_found_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("part");
  QTest::newRow("upwards") << "engine/data/a.cpp"
                           << "#include \"engine/train/trainer.h\""
                           << "engine/data/a.cpp:2: includes engine/train";
  QTest::newRow("sideways") << "engine/store/a.cpp"
                            << "#include \"engine/data/tokenizer.h\""
                            << "includes engine/data";
  QTest::newRow("session and cli") << "engine/session/a.cpp"
                                   << "#include \"engine/cli/options.h\""
                                   << "includes engine/cli";
  QTest::newRow("kernels") << "engine/backend/cuda/a.cu"
                           << "#include \"engine/model/a.h\""
                           << "engine/backend/cuda/a.cu:2: includes engine/model";
  QTest::newRow("unknown folder") << "engine/new/a.cpp"
                                  << "#include \"engine/base/file.h\""
                                  << "includes engine/base";
  QTest::newRow("engine and window") << "engine/base/a.cpp"
                                     << "#include \"gui/app/window.h\""
                                     << "includes gui";
  QTest::newRow("engine and tests") << "engine/base/a.cpp"
                                    << "#include \"tests/support/in_arena.h\""
                                    << "includes tests";
  QTest::newRow("widgets and engine") << "widgets/a.cpp"
                                      << "#include \"engine/base/error.h\""
                                      << "includes engine/base";
  QTest::newRow("widgets and gui") << "widgets/a.cpp"
                                   << "#include \"gui/pages/plan_page.h\""
                                   << "includes gui";
  QTest::newRow("Qt class") << "engine/base/a.cpp"
                            << "#include <QString>"
                            << "includes Qt";
  QTest::newRow("Qt module") << "engine/cli/a.cpp"
                             << "#include <QtCore/QString>"
                             << "includes Qt";
  QTest::newRow("CUDA") << "engine/backend/cpu/a.cpp"
                        << "#include <cuda_runtime.h>"
                        << "includes CUDA";
  QTest::newRow("cuBLAS") << "engine/model/a.cpp"
                          << "#include <cublasLt.h>"
                          << "includes CUDA";
  QTest::newRow("plots") << "gui/pages/a.cpp"
                         << "#include <qcustomplot.h>"
                         << "QCustomPlot";
  QTest::newRow("cout") << "engine/data/a.cpp"
                        << "std::cout << 1;"
                        << "std::cout";
  QTest::newRow("printf") << "engine/data/a.cpp"
                          << "  std::printf(\"x\");"
                          << "printf(";
  QTest::newRow("exit") << "engine/data/a.cpp"
                        << "  if (wrong) exit(1);"
                        << "exit(";
  QTest::newRow("abort") << "engine/data/a.cpp"
                         << "std::abort();"
                         << "abort(";
  QTest::newRow("long file") << "gui/a.cpp" << QString("\n").repeated(400) << "longer than 400";
  QTest::newRow("no guard") << "gui/a.h"
                            << "struct A {};"
                            << "without #pragma once";
  QTest::newRow("file name") << "gui/PlanPage.cpp"
                             << ""
                             << "snake_case";
}

void TestStructure::a_broken_rule_is_found() {
  QFETCH(const QString, path);
  QFETCH(const QString, text);
  QFETCH(const QString, part);
  const std::vector<std::string> broken = rules_broken_by(path, text);
  QVERIFY(!broken.empty());
  QVERIFY2(broken.front().find(part.toStdString()) != std::string::npos, broken.front().c_str());
}

void TestStructure::allowed_things_are_not_reported_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("text");
  QTest::newRow("own folder") << "engine/data/a.cpp"
                              << "#include \"engine/data/b.h\"";
  QTest::newRow("below") << "engine/train/a.cpp"
                         << "#include \"engine/tensor/arena.h\"";
  QTest::newRow("window and engine") << "gui/run/a.cpp"
                                     << "#include \"engine/train/trainer.h\"";
  QTest::newRow("tool and engine") << "engine/cli/a.cpp"
                                   << "#include \"engine/session/run.h\"";
  QTest::newRow("tool prints") << "engine/cli/a.cpp"
                               << "std::cout << 1; std::exit(2);";
  QTest::newRow("in a comment") << "engine/data/a.cpp"
                                << "// never calls exit(1)";
  QTest::newRow("other words") << "engine/data/a.cpp"
                               << "snprintf(x); at_exit(y); std::atexit(z);";
  QTest::newRow("CUDA at home") << "engine/backend/cuda/a.cpp"
                                << "#include <cuda_runtime.h>";
  QTest::newRow("a kernel without #pragma once") << "engine/backend/cuda/a.cu"
                                                 << "#include <cstdint>";
  QTest::newRow("generated") << "gui/a.cpp"
                             << "#include \"a.moc\"";
  QTest::newRow("400 lines") << "gui/a.cpp" << QString("\n").repeated(398);
}

void TestStructure::allowed_things_are_not_reported() {
  QFETCH(const QString, path);
  QFETCH(const QString, text);
  const std::vector<std::string> broken = rules_broken_by(path, text);
  QVERIFY2(broken.empty(), broken.empty() ? "" : broken.front().c_str());
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestStructure)
#include "test_structure.moc"
