// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// What the CUDA runtime points to by cudaStream_t.
struct CUstream_st;

namespace athanor::cuda {

/// Work given to one stream is done in its order. In the emulation it is done at once, or noted
/// while it is recorded (emulation/work.h); there, null always does it at once.
using Stream = CUstream_st*;

}  // namespace athanor::cuda
