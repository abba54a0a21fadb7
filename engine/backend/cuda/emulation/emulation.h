// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

/// What device.h gives for a card, as host C++: kernels run on the CPU, for tests. Each CUDA thread
/// is a fiber, one block runs at a time on the host thread that launches, and launch() throws what
/// the kernel does wrong. Tests choose the order of threads with emulation::ThreadOrderScope.
/// Not found: faults of fences and of the memory model, races between blocks, a fragment's layout
/// that is wrong both here and in the kernel, and how far a card's approximations are off. Races
/// within a block show by the order of threads, and ThreadSanitizer finds them in any order.

#include "engine/backend/cuda/emulation/arithmetic.h"
#include "engine/backend/cuda/emulation/atomics.h"
#include "engine/backend/cuda/emulation/built_ins.h"
#include "engine/backend/cuda/emulation/launch.h"
#include "engine/backend/cuda/emulation/matrices.h"
#include "engine/backend/cuda/emulation/numbers.h"
#include "engine/backend/cuda/emulation/options.h"
#include "engine/backend/cuda/emulation/qualifiers.h"
#include "engine/backend/cuda/emulation/vectors.h"
#include "engine/backend/cuda/emulation/warp.h"
