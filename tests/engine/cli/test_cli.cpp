// SPDX-License-Identifier: GPL-3.0-or-later
#include <sys/stat.h>
#include <QtTest/QtTest>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {
namespace {

QString text_of(const std::filesystem::path& path) {
  return QString::fromStdString(path.string());
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void send(const QProcess& process, int signal) {
  ::kill(static_cast<pid_t>(process.processId()), signal);
}

/// Makes what a row is about and gives the options that name it.
using Prepare = std::function<QStringList(const CommandLine&)>;

/// The settings of the small run with one field of `part` set.
std::string spec_with(const CommandLine& line, const char* part, const char* field,
                      const Json& value) {
  Json spec = read_json_file(line.spec());
  spec[part][field] = value;
  return spec.dump();
}

}  // namespace

#define VERIFY_CODE(answer, expected) \
  QVERIFY2((answer).code == (expected), ((answer).output + (answer).errors).c_str())

/// The built program, as a person or a script meets it.
class TestCli : public QObject {
  Q_OBJECT

 private slots:
  void trains_lists_and_chats();
  void json_tells_everything();
  void settings_are_taken_from_options();
  void killed_run_is_resumed_to_the_same_end();
  void stopped_run_is_saved_and_resumed();
  void run_in_training_is_busy();
  void diverged_run_goes_on_with_a_lower_rate();
  void bad_input_data();
  void bad_input();
  void bad_usage_data();
  void bad_usage();
  void help_lists_exit_codes();
};

void TestCli::trains_lists_and_chats() {
  const CommandLine line;
  QVERIFY(holds(line.run({"runs"}).output, "no runs yet. Begin with: " ATHANORCTL " train"));
  const Answer trained = line.train();
  VERIFY_CODE(trained, 0);
  const std::string next = std::string("Go on with: ") + ATHANORCTL + " chat 1";
  for (const char* part : {"Validation loss ", " nats/token, ", " bits per byte", " tokens/s",
                           " bytes planned, ", next.c_str()}) {
    QVERIFY2(holds(trained.output, part),
             (std::string(part) + " is not in " + trained.output).c_str());
  }
  const QString last = QString::fromStdString(trained.output).trimmed().section('\n', -1);
  QVERIFY2(last.startsWith("Validation loss ") && last.contains(" bits per byte"),
           qPrintable(last));
  QCOMPARE(trained.errors, std::string());
  QVERIFY(!holds(trained.output, "\x1b"));
  const Answer runs = line.run({"runs"});
  VERIFY_CODE(runs, 0);
  QVERIFY(holds(runs.output, "Tiny") && holds(runs.output, "finished") &&
          holds(runs.output, "12/12"));
  const Answer chatted = line.run({"chat", "1", "--prompt", "The cat", "--length", "8"});
  VERIFY_CODE(chatted, 0);
  QVERIFY(chatted.output.size() > 1);
  QVERIFY(holds(chatted.errors, "tokens/s"));
  VERIFY_CODE(line.run({"resume", "1"}), 2);
}

void TestCli::json_tells_everything() {
  const CommandLine line;
  const Answer trained = line.train({"--json"});
  VERIFY_CODE(trained, 0);
  std::map<std::string, int> counts;
  for (const Json& event : trained.events())
    ++counts[event.at("event").get<std::string>()];
  QCOMPARE(counts["started"], 1);
  QCOMPARE(counts["step"], 12);
  QCOMPARE(counts["checkpoint"], 3);
  QVERIFY(counts["evaluation"] >= 2 && counts["stage"] >= 1);
  QCOMPARE(trained.events().back().at("event").get<std::string>(), std::string("finished"));
  const Json end = trained.last("finished");
  QCOMPARE(end.at("status").get<std::string>(), std::string("finished"));
  QCOMPARE(end.at("planned_bytes"), end.at("allocated_bytes"));
  QVERIFY(end.at("planned_bytes").get<std::int64_t>() > 28'192 * 16);
  QVERIFY(end.at("unigram_entropy").get<double>() > 1);
  const double loss = end.at("validation_loss").get<double>();
  QCOMPARE(trained.last("evaluation").at("loss").get<double>(), loss);
  QVERIFY(loss < trained.events().at(3).value("loss", 6.0) && loss > 0.5);
  const Json runs = line.run({"runs", "--json"}).events().at(0);
  QCOMPARE(runs.size(), std::size_t{1});
  QCOMPARE(runs[0].at("run").get<int>(), 1);
  QCOMPARE(runs[0].at("status").get<std::string>(), std::string("finished"));
  QCOMPARE(runs[0].at("validation_loss").get<double>(), loss);
  const Json presets = line.run({"--json", "presets"}).events().at(0);
  QVERIFY(presets.size() > 1);
  QVERIFY(presets[0].at("spec").contains("model"));
}

void TestCli::settings_are_taken_from_options() {
  const CommandLine line;
  VERIFY_CODE(
      line.train({"--steps",      "3",  "--batch",      "2",    "--accumulation", "2",
                  "--context",    "16", "--lr",         "2e-3", "--schedule",     "constant",
                  "--seed",       "9",  "--vocabulary", "280",  "--eval-every",   "0",
                  "--save-every", "0",  "--name",       "Käse"}),
      0);
  const Json spec = read_json_file(line.home() / "runs/000001/spec.json");
  QCOMPARE(spec.at("name").get<std::string>(), std::string("Käse"));
  QCOMPARE(spec.at("sources").at(0).at("path").get<std::string>(), line.text().string());
  const Json& train = spec.at("train");
  QCOMPARE(train.at("steps").get<int>(), 3);
  QCOMPARE(train.at("micro_batch").get<int>(), 2);
  QCOMPARE(train.at("gradient_accumulation").get<int>(), 2);
  QCOMPARE(train.at("learning_rate").get<double>(), 2e-3);
  QCOMPARE(train.at("schedule").get<std::string>(), std::string("constant"));
  QCOMPARE(train.at("seed").get<int>(), 9);
  QCOMPARE(train.at("evaluation_interval").get<int>(), 0);
  QCOMPARE(train.at("checkpoint_interval").get<int>(), 0);
  QCOMPARE(spec.at("model").at("context").get<int>(), 16);
  QCOMPARE(spec.at("model").at("vocabulary").get<int>(), 280);
  QCOMPARE(spec.at("model").at("width").get<int>(), 32);
}

void TestCli::killed_run_is_resumed_to_the_same_end() {
  const CommandLine line;
  const auto training = line.start_slow_training();
  QVERIFY(CommandLine::wait_for(*training, "checkpoint"));
  send(*training, SIGKILL);
  training->waitForFinished();
  QCOMPARE(training->exitStatus(), QProcess::CrashExit);
  const Json record = line.run({"runs", "--json"}).events().at(0).at(0);
  QCOMPARE(record.at("status").get<std::string>(), std::string("interrupted"));
  const Answer resumed = line.run({"resume", "1", "--json"});
  VERIFY_CODE(resumed, 0);
  const auto first_step = resumed.last("started").at("first_step").get<int>();
  QVERIFY(first_step >= 5 && first_step < 30 && first_step % 5 == 0);
  const Answer whole = line.train(CommandLine::slow_arguments());
  VERIFY_CODE(whole, 0);
  QCOMPARE(resumed.last("finished").at("validation_loss"),
           whole.last("finished").at("validation_loss"));
  QCOMPARE(resumed.last("finished").at("loss"), whole.last("finished").at("loss"));
}

void TestCli::stopped_run_is_saved_and_resumed() {
  const CommandLine line;
  const auto training = line.start_slow_training();
  QVERIFY(CommandLine::wait_for(*training, "step"));
  send(*training, SIGINT);
  QVERIFY(training->waitForFinished());
  QCOMPARE(training->exitStatus(), QProcess::NormalExit);
  QCOMPARE(training->exitCode(), 130);
  const Answer stopped{.code = 130,
                       .output = training->readAllStandardOutput().toStdString(),
                       .errors = training->readAllStandardError().toStdString()};
  QVERIFY(holds(stopped.errors, "Press Ctrl+C again"));
  QCOMPARE(stopped.last("finished").at("status").get<std::string>(), std::string("stopped"));
  const int step = stopped.last("finished").at("step").get<int>();
  QVERIFY(step >= 1 && step < 30);
  QCOMPARE(stopped.last("checkpoint").at("step").get<int>(), step);
  VERIFY_CODE(line.run({"chat", "1", "--prompt", "The cat"}), 0);
  const Answer resumed = line.run({"resume", "1"});
  VERIFY_CODE(resumed, 0);
  QVERIFY(holds(resumed.output, "Going on from step " + std::to_string(step)));
}

void TestCli::run_in_training_is_busy() {
  const CommandLine line;
  const auto training = line.start_slow_training();
  QVERIFY(CommandLine::wait_for(*training, "step"));
  const Answer second = line.run({"resume", "1"});
  VERIFY_CODE(second, 4);
  QVERIFY(holds(second.errors, "being trained by another"));
  const Json record = line.run({"runs", "--json"}).events().at(0).at(0);
  QVERIFY(record.at("status").get<std::string>() != "interrupted");
  send(*training, SIGTERM);
  QVERIFY(training->waitForFinished());
  QCOMPARE(training->exitCode(), 130);
}

void TestCli::diverged_run_goes_on_with_a_lower_rate() {
  const CommandLine line;
  const auto training = line.start_slow_training();
  QVERIFY(CommandLine::wait_for(*training, "checkpoint"));
  send(*training, SIGINT);
  QVERIFY(training->waitForFinished());
  const Answer diverged = line.run({"resume", "1", "--lr-scale", "1e12"});
  VERIFY_CODE(diverged, 5);
  QVERIFY2(holds(diverged.errors, "was no longer a number at step"), diverged.errors.c_str());
  QVERIFY(holds(diverged.output, "Resume with: " ATHANORCTL " resume 1 --lr-scale 0.1"));
  const auto record = [&] { return line.run({"runs", "--json"}).events().at(0).at(0); };
  QCOMPARE(record().at("status").get<std::string>(), std::string("paused"));
  QVERIFY(holds(record().at("problem").get<std::string>(), "at step"));
  VERIFY_CODE(line.run({"resume", "1", "--lr-scale", "1e-12"}), 0);
  QCOMPARE(record().at("status").get<std::string>(), std::string("finished"));
  QCOMPARE(record().at("problem").get<std::string>(), std::string());
}

void TestCli::bad_input_data() {
  QTest::addColumn<Prepare>("prepare");
  QTest::addColumn<int>("code");
  QTest::addColumn<std::string>("sentence");
  const auto row = [](const char* name, int code, const char* sentence, Prepare prepare) {
    QTest::newRow(name) << std::move(prepare) << code << std::string(sentence);
  };
  const auto data = [&](const char* name, const char* sentence, const std::string& content) {
    row(name, 3, sentence, [content](const CommandLine& line) {
      return QStringList{"--data", text_of(line.write("bad.txt", content))};
    });
  };
  const auto spec = [&](const char* name, int code, const char* sentence,
                        const std::function<std::string(const CommandLine&)>& content) {
    row(name, code, sentence, [content](const CommandLine& line) {
      return QStringList{"--spec", text_of(line.write("bad.json", content(line)))};
    });
  };
  data("empty text", "bad.txt", "");
  data("blank text", "bad.txt", "  \n\n  ");
  data("binary text", "is not a text",
       std::string("\x7f"
                   "ELF\0\0\1",
                   7));
  data("UTF-16 text", "UTF-16", std::string("O\0n\0c\0e\0", 8));
  row("five gigabytes of nothing", 3, "is not a text", [](const CommandLine& line) {
    const auto file = line.write("bad.txt", "");
    std::filesystem::resize_file(file, std::uintmax_t{5} << 30);
    return QStringList{"--data", text_of(file)};
  });
  row("a folder without texts", 3, "holds no files to learn from", [](const CommandLine& line) {
    std::filesystem::create_directory(line.folder() / "empty");
    return QStringList{"--data", text_of(line.folder() / "empty")};
  });
  row("a pipe as text", 3, "not an ordinary file", [](const CommandLine& line) {
    ::mkfifo((line.folder() / "pipe").c_str(), 0600);
    return QStringList{"--data", text_of(line.folder() / "pipe")};
  });
  row("missing text", 3, "No such file", [](const CommandLine& line) {
    return QStringList{"--data", text_of(line.folder() / "missing.txt")};
  });
  row("context longer than the text", 2, "--context of 90000 tokens is longer than the text",
      [](const CommandLine&) {
        return QStringList{"--context", "90000"};
      });
  spec("heads that do not divide", 2, "The nearest number of heads that fits is",
       [](const auto& line) { return spec_with(line, "model", "heads", 5); });
  spec("JSON that is none", 3, "bad.json, line 2", [](const auto&) { return "{\n\"format\" 1}"; });
  spec("unknown field", 2, "no setting train.stepz",
       [](const auto& line) { return spec_with(line, "train", "stepz", 5); });
  spec("text for a number", 2, "train.steps must be a whole number",
       [](const auto& line) { return spec_with(line, "train", "steps", "many"); });
  spec("number out of range", 2, "train.micro_batch must be between",
       [](const auto& line) { return spec_with(line, "train", "micro_batch", -3); });
  row("missing settings", 3, "missing.json", [](const CommandLine& line) {
    return QStringList{"--spec", text_of(line.folder() / "missing.json")};
  });
  row("learning rate without bounds", 5, "at step 2", [](const CommandLine&) {
    return QStringList{"--lr", "1e9"};
  });
  row("more memory than there is", 2, "of memory", [](const CommandLine&) {
    return QStringList{"--width", "32768",   "--ffn", "131072",     "--layers",
                       "512",     "--heads", "256",   "--kv-heads", "256"};
  });
  row("home is a file", 3, "story.txt", [](const CommandLine& line) {
    return QStringList{"--home", text_of(line.text())};
  });
}

void TestCli::bad_input() {
  QFETCH(const Prepare, prepare);
  QFETCH(const int, code);
  QFETCH(const std::string, sentence);
  const CommandLine line;
  QStringList arguments = prepare(line);
  const auto usual = [&](const QString& flag, const std::filesystem::path& value) {
    if (!arguments.contains(flag)) arguments += {flag, text_of(value)};
  };
  usual("--spec", line.spec());
  usual("--data", line.text());
  const Stopwatch time;
  const Answer answer = line.run(QStringList{"train"} + arguments);
  QVERIFY2(time.seconds() < 60, "a refusal does not take long");
  VERIFY_CODE(answer, code);
  QVERIFY2(answer.errors.starts_with("athanorctl: "), answer.errors.c_str());
  QVERIFY2(holds(answer.errors, sentence), answer.errors.c_str());
  QCOMPARE(std::ranges::count(answer.errors, '\n'), 1);
}

void TestCli::bad_usage_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<std::string>("sentence");
  const auto row = [](const char* name, const QStringList& arguments, const char* sentence,
                      int code = 2) {
    QTest::newRow(name) << arguments << code << std::string(sentence);
  };
  const QStringList spark{"train", "--preset", "spark"};
  row("nothing", {}, "Say what to do");
  row("unknown command", {"tarin"}, "\"tarin\" is not understood");
  row("unknown option", {"train", "--stepz", "3"}, "\"--stepz\" is not understood");
  row("nothing to train", {"train"}, "--preset ID");
  row("spec and preset", spark + QStringList{"--spec", "x.json"}, "--spec and --preset");
  row("unknown preset", {"train", "--preset", "sprak"}, "There is no preset \"sprak\"");
  row("no value", {"train", "--seed"}, "--seed needs a value");
  row("twice", spark + QStringList{"--seed", "1", "--seed", "2"},
      "--seed was given more than once");
  row("negative seed", spark + QStringList{"--seed", "-1"}, "--seed must be between");
  row("no batch", spark + QStringList{"--batch", "0"}, "--batch must be between 1");
  row("batch in words", spark + QStringList{"--batch", "two"}, "--batch must be a whole number");
  row("half a step", spark + QStringList{"--steps", "0.5"}, "--steps must be a whole number");
  row("no rate", spark + QStringList{"--lr", "nan"}, "--lr must be a number");
  row("unknown schedule", spark + QStringList{"--schedule", "up"}, "--schedule must be one_cycle");
  row("empty data", spark + QStringList{"--data", ""}, "--data must name");
  row("empty name", spark + QStringList{"--name", ""}, "--name must not be empty");
  row("empty home", {"runs", "--home", ""}, "--home must name");
  row("threads in words", {"--threads", "all", "runs"}, "--threads must be a whole number");
  row("too many threads", {"--threads", "9999", "runs"}, "--threads must be between");
  row("no run", {"resume"}, "RUN is required");
  row("run in words", {"resume", "first"}, "RUN must be a whole number");
  row("no scale", {"resume", "1", "--lr-scale", "0"}, "--lr-scale must be");
  row("no temperature", {"chat", "1", "--temperature", "-1"}, "--temperature must be between");
  row("probability above one", {"chat", "1", "--top-p", "1.5"}, "--top-p must be between");
  row("no length", {"chat", "1", "--length", "0"}, "--length must be between");
  row("unknown run to resume", {"resume", "7"}, "There is no run 7", 3);
  row("unknown run to chat with", {"chat", "7", "--prompt", "a"}, "There is no run 7", 3);
}

void TestCli::bad_usage() {
  QFETCH(const QStringList, arguments);
  QFETCH(const int, code);
  QFETCH(const std::string, sentence);
  const CommandLine line;
  const Answer answer = line.run(arguments);
  VERIFY_CODE(answer, code);
  QVERIFY2(answer.errors.starts_with("athanorctl: "), answer.errors.c_str());
  QVERIFY2(holds(answer.errors, sentence), answer.errors.c_str());
  QCOMPARE(answer.output, std::string());
}

void TestCli::help_lists_exit_codes() {
  const CommandLine line;
  const Answer help = line.run({"--help"});
  VERIFY_CODE(help, 0);
  QVERIFY(holds(help.output, "Exit status: 0 done") && holds(help.output, "130 stopped"));
  VERIFY_CODE(line.run({"train", "--help"}), 0);
  VERIFY_CODE(line.run({"--version"}), 0);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCli)
#include "test_cli.moc"
