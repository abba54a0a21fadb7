// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <sys/types.h>

#include <functional>

namespace athanor {

/// A forked copy of the test that runs `body` and ends; killed at the latest by the destructor.
class ChildProcess {
 public:
  /// `body` calls `ready` when the parent may go on; what it throws becomes exit status 99.
  using Body = std::function<void(const std::function<void()>& ready)>;

  explicit ChildProcess(const Body& body);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// False when the child ended before it was ready.
  bool wait_until_ready();
  void kill();
  /// The exit status, or -1 when it was ended by a signal.
  int wait_for_end();

 private:
  pid_t id_ = -1;
  int ready_ = -1;
};

}  // namespace athanor
