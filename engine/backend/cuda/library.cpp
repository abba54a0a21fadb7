// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace athanor {

Library::Library(const std::string& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* words = ::dlerror();
  error_ = words == nullptr ? "unknown error" : words;
  // A library that this one needs, and that is missing, is named instead of it.
  absent_ = error_.starts_with(file + ": cannot open shared object file: No such file");
}

void* Library::address(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

std::string environment_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

}  // namespace athanor
