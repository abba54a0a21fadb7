// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/error.h"

namespace athanor {

/// What athanorctl's exit status means; --help lists the same.
enum ExitCode : int {
  kSuccess = 0,
  kOtherFailure = 1,
  kBadUsage = 2,
  kDataProblem = 3,
  kBusy = 4,
  kNotFinite = 5,
  kUnsupported = 6,
  kDeviceFailed = 7,
  kStopped = 130,  ///< 128 + SIGINT, as shells have it
};

constexpr const char* kExitCodesHelp =
    "Exit status: 0 done; 1 any other failure; 2 a command, option or setting that cannot be "
    "used;\n"
    "3 a text, file, run or checkpoint that is missing, damaged or cannot be read or written;\n"
    "4 something is in use by another program; 5 the loss was no longer a number and training\n"
    "paused; 6 this machine or program cannot do it; 7 the card failed, the run can be resumed;\n"
    "130 stopped by Ctrl+C, after saving.";

constexpr ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return kBadUsage;
    case ErrorKind::not_found:
    case ErrorKind::io:
    case ErrorKind::damaged:
      return kDataProblem;
    case ErrorKind::busy:
      return kBusy;
    case ErrorKind::non_finite:
      return kNotFinite;
    case ErrorKind::unsupported:
      return kUnsupported;
    case ErrorKind::device:
      return kDeviceFailed;
    case ErrorKind::internal:
      break;
  }
  return kOtherFailure;
}

}  // namespace athanor
