// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/cli/command_line.h"

#include <QElapsedTimer>
#include <array>
#include <stdexcept>

#include "engine/base/file.h"
#include "engine/base/philox.h"

namespace athanor {

namespace {

#ifdef ATHANOR_SANITIZED
constexpr int kPatience_ms = 600'000;
#else
constexpr int kPatience_ms = 120'000;
#endif

/// About 40 kB of sentences that a small model can learn something of.
std::string small_story() {
  constexpr std::array<const char*, 4> kWho = {"The cat", "A bird", "The old man", "My friend"};
  constexpr std::array<const char*, 4> kDid = {"saw", "found", "painted", "lost"};
  constexpr std::array<const char*, 4> kWhat = {"the river", "a red ball", "the moon", "a song"};
  constexpr std::array<const char*, 4> kWhen = {"at night", "by the sea", "once more", "with joy"};
  const Philox random(3, 0);
  std::string text;
  for (std::uint64_t index = 0; text.size() < 40'000; index += 4) {
    const auto pick = [&](const auto& words, std::uint64_t offset) {
      return std::string(words[random.word(index + offset) % words.size()]);
    };
    text +=
        pick(kWho, 0) + " " + pick(kDid, 1) + " " + pick(kWhat, 2) + " " + pick(kWhen, 3) + ".\n";
  }
  return text;
}

Json tiny_spec() {
  return {{"format", 1},
          {"name", "Tiny"},
          {"model",
           {{"vocabulary", 300},
            {"layers", 2},
            {"width", 32},
            {"heads", 2},
            {"kv_heads", 1},
            {"ffn", 64},
            {"context", 32}}},
          {"train",
           {{"steps", 12},
            {"micro_batch", 4},
            {"evaluation_interval", 6},
            {"checkpoint_interval", 4},
            {"head_chunk_tokens", 64}}}};
}

}  // namespace

std::vector<Json> Answer::events() const {
  std::vector<Json> values;
  std::size_t begin = 0;
  for (std::size_t end = output.find('\n'); end != std::string::npos;
       end = output.find('\n', begin)) {
    values.push_back(Json::parse(output.substr(begin, end - begin)));
    begin = end + 1;
  }
  return values;
}

Json Answer::last(const std::string& kind) const {
  const std::vector<Json> values = events();
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    if (value->value("event", "") == kind) return *value;
  }
  throw std::runtime_error("no event " + kind + " in: " + output + errors);
}

CommandLine::CommandLine() {
  write("story.txt", small_story());
  write("tiny.json", tiny_spec().dump());
}

std::filesystem::path CommandLine::write(const std::string& name,
                                         const std::string& content) const {
  write_file_atomically(folder() / name, content);
  return folder() / name;
}

QStringList CommandLine::with_home(const QStringList& arguments) const {
  if (arguments.contains("--home")) return arguments;
  return QStringList{"--home", QString::fromStdString(home().string())} + arguments;
}

QStringList CommandLine::train_arguments(const QStringList& arguments) const {
  return QStringList{"train", "--spec", QString::fromStdString(spec().string()), "--data",
                     QString::fromStdString(text().string())} +
         arguments;
}

Answer CommandLine::run(const QStringList& arguments, const std::string& input) const {
  QProcess process;
  process.start(ATHANORCTL, with_home(arguments));
  process.write(input.data(), static_cast<qint64>(input.size()));
  process.closeWriteChannel();
  Answer answer;
  if (!process.waitForFinished(kPatience_ms)) return answer;
  answer.code = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
  answer.output = process.readAllStandardOutput().toStdString();
  answer.errors = process.readAllStandardError().toStdString();
  return answer;
}

Answer CommandLine::train(const QStringList& arguments) const {
  return run(train_arguments(arguments));
}

QStringList CommandLine::slow_arguments() {
#ifdef ATHANOR_SANITIZED
  return {"--json", "--steps", "30", "--batch", "8", "--save-every", "5"};
#else
  return {"--json", "--steps", "30", "--batch", "64", "--save-every", "5"};
#endif
}

std::unique_ptr<QProcess> CommandLine::start_slow_training() const {
  auto process = std::make_unique<QProcess>();
  process->start(ATHANORCTL, with_home(train_arguments(slow_arguments())));
  return process;
}

bool CommandLine::wait_for(QProcess& process, const std::string& kind) {
  const QByteArray wanted = QByteArray::fromStdString("{\"event\":\"" + kind + "\"");
  QElapsedTimer time;
  time.start();
  while (time.elapsed() < kPatience_ms) {
    while (process.canReadLine()) {
      if (process.readLine().startsWith(wanted)) return true;
    }
    if (!process.waitForReadyRead(kPatience_ms)) return false;
  }
  return false;
}

}  // namespace athanor
