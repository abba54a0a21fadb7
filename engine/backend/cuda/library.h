// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace athanor {

/// A shared library opened while the program runs. It stays loaded until the process ends: drivers
/// and CUDA's libraries have threads of their own and do not survive being unloaded.
class Library {
 public:
  /// `file`: a path, or a name that the system's loader looks for.
  explicit Library(const std::string& file);

  bool loaded() const { return handle_ != nullptr; }
  /// Not loaded because there is no such file, rather than one that cannot be loaded.
  bool absent() const { return absent_; }
  const std::string& error() const { return error_; }  ///< the loader's words; empty when loaded

  /// Null when the library does not have it.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;

  void* handle_ = nullptr;
  bool absent_ = false;
  std::string error_;
};

/// The value of an environment variable; empty when it is not set.
std::string environment_text(const char* name);

}  // namespace athanor
