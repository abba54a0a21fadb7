// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

/// The instruction sets that kernels are compiled for; included before any Highway header. Each
/// more costs compile time and binary size. On x86-64: AVX-512 ("AVX3"), AVX2 and, for what is
/// older, SSE4, which the build names as these files' baseline. On ARM: NEON, since kernels keep
/// vectors in arrays and SVE's have no size.

#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | (HWY_AVX3 - 1))
#define HWY_DISABLE_PCLMUL_AES
#else
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
