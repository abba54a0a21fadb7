// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/stop_signals.h"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "engine/cli/exit_codes.h"

namespace athanor {

namespace {
sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, signal);
  return set;
}
}  // namespace

StopSignals::StopSignals(std::function<void()> on_first) : on_first_(std::move(on_first)) {
  const sigset_t set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this] { wait_for_signals(); });
}

StopSignals::~StopSignals() {
  ending_ = true;
  thread_.join();
}

void StopSignals::wait_for_signals() {
  const sigset_t set = stop_signals();
  constexpr timespec kPoll{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!ending_) {
    if (::sigtimedwait(&set, nullptr, &kPoll) < 0) continue;
    if (seen_.exchange(true)) std::_Exit(kStopped);
    on_first_();
  }
}

}  // namespace athanor
