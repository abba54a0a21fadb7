// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace athanor {

namespace {

/// The text after "key" and a colon in a file like /proc/meminfo; empty when absent.
std::string field_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::int64_t kibibytes_of(const char* path, const std::string& key) {
  const std::string text = field_of(path, key);
  return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10) * 1024;
}

/// A control-group file's number; "max" and absent files mean no limit.
std::int64_t group_bytes(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

std::string processor_name() {
  const std::string name = field_of("/proc/cpuinfo", "model name");
  return name.empty() ? "Processor" : name;
}

std::int64_t total_memory_bytes() {
  return std::min(kibibytes_of("/proc/meminfo", "MemTotal"),
                  group_bytes("/sys/fs/cgroup/memory.max"));
}

std::int64_t available_memory_bytes() {
  const std::int64_t free = kibibytes_of("/proc/meminfo", "MemAvailable");
  const std::int64_t limit = group_bytes("/sys/fs/cgroup/memory.max");
  if (limit == std::numeric_limits<std::int64_t>::max()) return free;
  return std::clamp<std::int64_t>(limit - group_bytes("/sys/fs/cgroup/memory.current"), 0, free);
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total_pages = 0;
  std::int64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace athanor
