// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stdexcept>
#include <string>

namespace athanor {

/// What kind of trouble an Error is; callers choose exit codes and remedies by it.
enum class ErrorKind {
  invalid_argument,  ///< a setting or an argument that cannot be used
  not_found,         ///< a file, run or checkpoint that does not exist
  io,                ///< reading or writing failed: permissions, full disk
  damaged,           ///< a file's content is not what its format promises
  busy,              ///< something else holds what is needed; trying again may help
  unsupported,       ///< this build or machine cannot do it
  non_finite,        ///< the loss or a gradient is no longer a number
  device,            ///< a card failed; what was saved before is good
  internal,          ///< a fault of the program itself
};

/// The one exception of the engine. `message` is a whole sentence for a person, with the next step;
/// `context` is technical detail (system error, offset), possibly empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string context = {})
      : std::runtime_error(message), kind_(kind), context_(std::move(context)) {}

  ErrorKind kind() const { return kind_; }
  std::string message() const { return what(); }
  const std::string& context() const { return context_; }

 private:
  ErrorKind kind_;
  std::string context_;
};

/// "No space left on device" and the like for an errno value.
std::string system_error_text(int error_number);

/// The io (or not_found, for a missing file) Error "Cannot <action> <path>: <system error>. <next
/// step>".
Error file_error(const std::string& action, const std::string& path, int error_number);

}  // namespace athanor
