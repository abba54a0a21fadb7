// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// libstdc++ writes __attribute__((__noinline__)): what does must be read before the word changes.
#include <memory>

/// CUDA's words for functions and variables.
// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __launch_bounds__
#undef __forceinline__
#undef __noinline__

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
/// A variable declared so would be each thread's own here, and a kernel that passes tests wrong.
#define __shared__ use_ATHANOR_SHARED_in_place_of_the_bare_word
// NOLINTEND(bugprone-reserved-identifier)
