// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace athanor {

/// The processor's model name as the system tells it, e.g. "AMD Ryzen 7 5800X".
std::string processor_name();

std::int64_t total_memory_bytes();
/// Memory that can be taken without swapping, now (and within the control group's limit).
std::int64_t available_memory_bytes();
/// Time that this process's threads have computed together.
double processor_seconds();
/// This process's resident memory, now and at its peak.
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace athanor
