// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QProcess>
#include <QStringList>
#include <QTemporaryDir>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"

namespace athanor {

/// What athanorctl answered.
struct Answer {
  int code = -1;
  std::string output;
  std::string errors;

  /// The JSON values on the output's lines; throws for a line that is none.
  std::vector<Json> events() const;
  /// The last event of this kind; throws std::runtime_error when there is none.
  Json last(const std::string& kind) const;
};

/// athanorctl in a home of its own, with a small text and settings that train in moments.
class CommandLine {
 public:
  CommandLine();

  std::filesystem::path folder() const { return folder_.path().toStdString(); }
  std::filesystem::path home() const { return folder() / "home"; }
  std::filesystem::path text() const { return folder() / "story.txt"; }
  std::filesystem::path spec() const { return folder() / "tiny.json"; }

  /// The arguments, with "--home X" unless they have their own.
  Answer run(const QStringList& arguments, const std::string& input = {}) const;
  /// train with the small text and settings, and the arguments.
  Answer train(const QStringList& arguments = {}) const;
  /// The same as a process that goes on; steps take long enough to be interrupted.
  std::unique_ptr<QProcess> start_slow_training() const;
  static QStringList slow_arguments();
  /// Reads events until one of `kind`; false when the process ended or a minute passed before.
  static bool wait_for(QProcess& process, const std::string& kind);

  std::filesystem::path write(const std::string& name, const std::string& content) const;

 private:
  QStringList with_home(const QStringList& arguments) const;
  QStringList train_arguments(const QStringList& arguments) const;

  QTemporaryDir folder_;
};

}  // namespace athanor
