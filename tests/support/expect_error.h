// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QtTest/QtTest>
#include <string>

#include "engine/base/error.h"

namespace athanor {

/// Empty when `action` throws an Error of `kind` whose message holds `part`; else what happened.
template <class Action>
std::string unexpected_error(const Action& action, ErrorKind kind, const std::string& part) {
  try {
    action();
  } catch (const Error& error) {
    if (error.kind() != kind) {
      return "kind " + std::to_string(static_cast<int>(error.kind())) + ": " + error.message();
    }
    if (error.message().find(part) == std::string::npos) {
      return "\"" + part + "\" is not in: " + error.message();
    }
    return {};
  }
  return "no error was thrown";
}

}  // namespace athanor

/// Fails the test function unless `expression` throws athanor::Error of this kind, with this text.
#define ATHANOR_EXPECT_ERROR(expression, error_kind, part)                            \
  do {                                                                                \
    const std::string unexpected =                                                    \
        athanor::unexpected_error([&] { (void)(expression); }, (error_kind), (part)); \
    QVERIFY2(unexpected.empty(), unexpected.c_str());                                 \
  } while (false)
