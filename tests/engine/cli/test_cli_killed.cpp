// SPDX-License-Identifier: GPL-3.0-or-later
#include <signal.h>

#include <QtTest/QtTest>
#include <algorithm>
#include <random>

#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {

/// Runs killed at any moment, in training and in saving, end as if nothing had happened.
class TestCliKilled : public QObject {
  Q_OBJECT

 private slots:
  void killed_at_random_every_run_ends_to_the_bit_as_undisturbed();
};

namespace {

/// ATHANOR_KILLS sets another number, such as 200.
int kills_wanted() {
#ifdef ATHANOR_SANITIZED
  return qEnvironmentVariableIntValue("ATHANOR_KILLS") > 0
             ? qEnvironmentVariableIntValue("ATHANOR_KILLS")
             : 3;
#else
  return qEnvironmentVariableIntValue("ATHANOR_KILLS") > 0
             ? qEnvironmentVariableIntValue("ATHANOR_KILLS")
             : 12;
#endif
}

constexpr int kSteps = 40;

/// Saved so often that many of the kills come while it is.
QStringList often_saving() {
  return {"--json", "--steps", "40", "--batch", "16", "--save-every", "2", "--eval-every", "4"};
}

std::string final_files(const CommandLine& line, std::int64_t run) {
  char place[64];
  std::snprintf(place, sizeof place, "runs/%06d/checkpoints/step-%08d", static_cast<int>(run),
                kSteps);
  std::string all;
  for (const char* file : {"weights.safetensors", "optimizer.safetensors"})
    all += read_small_file(line.home() / place / file);
  return all;
}

/// The newest run, or null.
Json newest_run(const CommandLine& line) {
  const Answer answer = line.run({"runs", "--json"});
  const Json list = answer.events().at(0);
  return list.empty() ? Json() : list.at(0);
}

}  // namespace

void TestCliKilled::killed_at_random_every_run_ends_to_the_bit_as_undisturbed() {
  const CommandLine line;
  QElapsedTimer time;
  time.start();
  const Answer whole = line.train(often_saving());
  const auto whole_ms = static_cast<int>(time.elapsed());
  QCOMPARE(whole.code, 0);
  const std::string expected = final_files(line, 1);

  std::mt19937 random(11);
  std::uniform_int_distribution<int> moment_ms(1, whole_ms);
  int kills = 0;
  int finished = 0;
  bool may_resume = false;
  while (kills < kills_wanted() || may_resume) {
    const Json run = newest_run(line);
    const auto id = run.at("run").get<std::int64_t>();
    QStringList arguments =
        may_resume ? QStringList{"resume", QString::number(id), "--json"}
                   : QStringList{"train", "--spec", QString::fromStdString(line.spec().string()),
                                 "--data", QString::fromStdString(line.text().string())} +
                         often_saving();
    QProcess process;
    process.start(ATHANORCTL,
                  QStringList{"--home", QString::fromStdString(line.home().string())} + arguments);
    QVERIFY(process.waitForStarted());
    // A kill too late is none.
    if (kills < kills_wanted() && !process.waitForFinished(moment_ms(random))) {
      ::kill(static_cast<pid_t>(process.processId()), SIGKILL);
      ++kills;
    }
    QVERIFY(process.state() == QProcess::NotRunning || process.waitForFinished(120'000));
    const Json after = newest_run(line);
    const auto now = after.at("run").get<std::int64_t>();
    if (after.at("status") == "finished" && now > 1) {
      QVERIFY2(final_files(line, now) == expected, after.dump().c_str());
      ++finished;
      may_resume = false;
      continue;
    }
    // Killed before its first checkpoint, a run has nothing to go on from.
    char place[64];
    std::snprintf(place, sizeof place, "runs/%06d/checkpoints", static_cast<int>(now));
    std::error_code error;
    may_resume =
        now > 1 && std::any_of(std::filesystem::directory_iterator(line.home() / place, error), {},
                               [](const auto& entry) { return !entry.path().has_extension(); });
  }
  qInfo("%d kills, %d runs brought to their end", kills, finished);
  QVERIFY(finished > 0 || kills_wanted() < 12);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliKilled)
#include "test_cli_killed.moc"
