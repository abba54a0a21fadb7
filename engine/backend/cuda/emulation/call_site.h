// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstring>
#include <source_location>
#include <string>
#include <type_traits>

namespace athanor::cuda::emulation {

/// Where in a kernel's source a built-in is called; a default argument current() fills it in.
#ifdef __cpp_lib_source_location
using CallSite = std::source_location;
#else
/// The same of compilers without it.
class CallSite {
 public:
  static constexpr CallSite current(const char* file = __builtin_FILE(),
                                    unsigned line = __builtin_LINE(),
                                    unsigned column = __builtin_COLUMN()) {
    CallSite site;
    site.file_ = file;
    site.line_ = line;
    site.column_ = column;
    return site;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return column_; }

 private:
  const char* file_ = "";
  unsigned line_ = 0;
  unsigned column_ = 0;
};
#endif

bool same_text(const CallSite& a, const CallSite& b);

/// Whether both are one place of the source; the usual case is that they are equal bit for bit.
inline bool same(const CallSite& a, const CallSite& b) {
  static_assert(std::is_trivially_copyable_v<CallSite>);
  return std::memcmp(&a, &b, sizeof(CallSite)) == 0 || same_text(a, b);
}

/// "norm.cu:12"
std::string text_of(const CallSite& site);

}  // namespace athanor::cuda::emulation
