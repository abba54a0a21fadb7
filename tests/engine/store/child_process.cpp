// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/store/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <utility>

namespace athanor {

ChildProcess::ChildProcess(const Body& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  id_ = ::fork();
  if (id_ < 0) throw std::runtime_error("no child process");
  if (id_ > 0) {
    ::close(ends[1]);
    ready_ = ends[0];
    return;
  }
  ::close(ends[0]);
  const auto ready = [&] {
    if (::write(ends[1], "r", 1) != 1) ::_exit(98);
  };
  try {
    body(ready);
  } catch (const std::exception&) {
    ::_exit(99);
  }
  ::_exit(0);
}

ChildProcess::~ChildProcess() {
  if (id_ > 0) {
    kill();
    wait_for_end();
  }
  ::close(ready_);
}

bool ChildProcess::wait_until_ready() {
  char byte = 0;
  return ::read(ready_, &byte, 1) == 1;
}

void ChildProcess::kill() {
  ::kill(id_, SIGKILL);
}

int ChildProcess::wait_for_end() {
  int status = 0;
  ::waitpid(std::exchange(id_, -1), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace athanor
