// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/cuda/emulation/call_site.h"

namespace athanor::cuda::emulation {

void copy_async_wait(int pending, const CallSite& site);

}  // namespace athanor::cuda::emulation

/// The functions that device.h makes of PTX for a card; their contracts stand there.
namespace athanor::cuda {

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
              emulation::CallSite site = emulation::CallSite::current());

void load_matrices(std::uint32_t (&to)[4], const void* shared_row,
                   emulation::CallSite site = emulation::CallSite::current());
void load_matrices_transposed(std::uint32_t (&to)[4], const void* shared_row,
                              emulation::CallSite site = emulation::CallSite::current());

void copy_async_16(void* shared, const void* global, bool present = true,
                   emulation::CallSite site = emulation::CallSite::current());
void copy_async_commit();
template <int kPending>
void copy_async_wait(emulation::CallSite site = emulation::CallSite::current()) {
  static_assert(kPending >= 0);
  emulation::copy_async_wait(kPending, site);
}

void named_barrier(int id, int threads, emulation::CallSite site = emulation::CallSite::current());

}  // namespace athanor::cuda
